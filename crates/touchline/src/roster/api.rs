//! The JSON endpoints of the roster.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
