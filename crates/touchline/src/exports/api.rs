//! The JSON endpoints of exports.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
