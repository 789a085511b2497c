//! The JSON endpoints of messages.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
