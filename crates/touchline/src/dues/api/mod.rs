//! The JSON endpoints of dues.

pub(super) mod charges;
pub(super) mod payments;
mod statements;

use crate::web::routes::Routes;

/// `/dues` and everything below it, and statements.
pub fn routes(routes: Routes) -> Routes {
    statements::routes(payments::routes(charges::routes(routes)))
}
