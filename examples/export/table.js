// The table that is exported, in SQLite; made when the app starts for the first time.
const { DatabaseSync: Database } = await import('node:sqlite').catch(async () => {
  // Node 20 has none of its own.
  const { default: DatabaseSync } = await import('libsql')
  return { DatabaseSync }
})

export const COLUMNS = [
  'id',
  'day',
  'customer',
  'city',
  'product',
  'quantity',
  'unit_price',
  'discount',
  'paid',
  'note',
]

const db = new Database('sales.db')

export function makeTable(rows) {
  const there = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sale'").get()
  if (there) return
  db.exec(`
    BEGIN;
    CREATE TABLE sale (
      id INTEGER PRIMARY KEY, day TEXT, customer TEXT, city TEXT, product TEXT,
      quantity INTEGER, unit_price REAL, discount REAL, paid INTEGER, note TEXT
    );
    INSERT INTO sale
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${Number(rows)})
    SELECT i, date('2024-01-01', '+' || (i % 700) || ' days'), 'Customer ' || (i * 7919 % 40000),
      CASE i % 5 WHEN 0 THEN 'Köln' WHEN 1 THEN 'Lyon' WHEN 2 THEN 'Kraków' WHEN 3 THEN '東京' ELSE 'Bristol' END,
      'Product ' || (i * 104729 % 900), 1 + i % 9, (i * 37 % 20000) / 100.0, (i % 4) / 20.0, i % 3 > 0,
      CASE WHEN i % 50 = 0 THEN '=called back, "twice"' ELSE '' END
    FROM n;
    COMMIT`)
}

export function countSales() {
  return db.prepare('SELECT count(*) AS n FROM sale').get().n
}

export function salesBetween(from, to) {
  return db.prepare('SELECT * FROM sale WHERE id BETWEEN ? AND ? ORDER BY id').all(from, to)
}
