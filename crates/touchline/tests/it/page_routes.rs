//! The pages there are, read from the source: a page is tested on the day it appears.

use std::path::Path;

use crate::house::sources;

/// What has routes but no pages.
const NO_PAGES: [&str; 4] = ["web/health.rs", "web/docs.rs", "web/assets.rs", "web/routes.rs"];
/// What only programs ask for, without a cookie.
const FOR_PROGRAMS: [&str; 5] =
    ["/.well-known/", "/oauth/token", "/oauth/revoke", "/oauth/introspect", "/stripe/webhook"];

/// A page's address, with names in braces, and whether it is opened, takes a form, or both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) opens: bool,
    pub(crate) takes: bool,
}

/// Every route of pages.
pub(crate) fn page_routes() -> Vec<Route> {
    let mut routes = Vec::new();
    for (file, code) in sources() {
        let is_api = file
            .components()
            .any(|part| matches!(part.as_os_str().to_str(), Some("api" | "api.rs")));
        if is_api || NO_PAGES.iter().any(|name| file == Path::new(name)) {
            continue;
        }
        for piece in code.split(".route(").skip(1) {
            let route = read(piece, &code);
            let route = route.unwrap_or_else(|| panic!("{}: .route({piece:.60}", file.display()));
            routes.push(route);
        }
    }
    routes.retain(|route| !FOR_PROGRAMS.iter().any(|start| route.path.starts_with(start)));
    routes.sort();
    routes
}

/// Reads what follows `.route(`.
fn read(piece: &str, code: &str) -> Option<Route> {
    let (path, handlers) = piece.split_once(',')?;
    let path = match path.trim() {
        text if text.starts_with('"') => text.trim_matches('"'),
        name => code.split(&format!("const {name}: &str = \"")).nth(1)?.split('"').next()?,
    };
    // Handlers end where the next step of the router or the end of the function stands.
    let handlers = handlers.split("\n        .").next()?.split("\n}").next()?;
    let takes = |verb: &str| handlers.contains(&format!("{verb}("));
    Some(Route { path: path.to_owned(), opens: takes("get"), takes: takes("post") })
}

#[test]
fn routes_are_read_as_they_are_written() {
    let code = "const HERE: &str = \"/here\";\nfn router() {\n    Router::new()\n        .route(HERE, get(list))\n        \
        .route(\"/here/{id}\", get(one).post(change))\n        .route(\n            \"/there\",\n            post(go),\n        )\n}\nfn get() {}";
    let found: Vec<_> =
        code.split(".route(").skip(1).map(|piece| read(piece, code).unwrap()).collect();
    let route = |path: &str, opens, takes| Route { path: path.to_owned(), opens, takes };
    assert_eq!(
        found,
        [
            route("/here", true, false),
            route("/here/{id}", true, true),
            route("/there", false, true)
        ]
    );
    assert!(page_routes().iter().any(|route| route.path == "/unsubscribe/{token}"));
}
