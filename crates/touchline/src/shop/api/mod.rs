//! The JSON endpoints of the store.

mod discounts;
mod orders;
mod products;

use crate::web::routes::Routes;

/// Everything below `/products`, `/discounts` and `/orders`.
pub fn routes(routes: Routes) -> Routes {
    orders::routes(discounts::routes(products::routes(routes)))
}
