//! JSON endpoints of the store.

pub(in crate::shop) mod discounts;
pub(in crate::shop) mod orders;
pub(in crate::shop) mod products;

use crate::web::routes::Routes;

/// Routes under `/products`, `/discounts` and `/orders`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_snapshot("Buyer", &["email"]).with_snapshot("Order", &["note"]);
    orders::routes(discounts::routes(products::routes(routes)))
}
