#!/usr/bin/env node
import { create } from './commands.js'

const { stdin, stdout, stderr, env } = process
process.exitCode = await create(process.argv.slice(2), { stdin, stdout, stderr, env, folder: process.cwd() })
