//! The JSON endpoints of the outbox.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
