//! JSON API of dues.

pub(super) mod charges;
pub(super) mod payments;
mod statements;

use crate::web::routes::Routes;

/// Routes below `/dues`, and the statements.
pub fn routes(routes: Routes) -> Routes {
    statements::routes(payments::routes(charges::routes(routes)))
}
