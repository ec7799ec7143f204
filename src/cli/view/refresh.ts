/** What a person reads after `refresh`: the lines of setup, and what became of the notes. */
export { view } from './setup.ts'
