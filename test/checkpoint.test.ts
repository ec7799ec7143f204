import './cases/checkpoint-fields.ts'
import './cases/checkpoint-evaluate.ts'
import './cases/checkpoint-govern.ts'
import './cases/checkpoint-verbs.ts'
