//! The JSON endpoints of events.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
