//! The JSON endpoints of people's data.

use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
}
