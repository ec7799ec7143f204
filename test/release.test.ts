import './cases/delivery-verb.ts'
import './cases/delivery-walk.ts'
import './cases/delivery-recipes.ts'
