import './cases/checkpoint-fields.ts'
import './cases/checkpoint-evaluate.ts'
import './cases/checkpoint-govern.ts'
