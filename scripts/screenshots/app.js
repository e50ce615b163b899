// What the shop's workers load: `highkiq work -r scripts/screenshots/app.js`.
import { openShop } from './shop.js'

export const { hq } = openShop(process.env.HIGHKIQ_URL, { isWorker: true })
