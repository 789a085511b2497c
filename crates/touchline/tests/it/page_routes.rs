//! The routes of all pages, read from the source, so that every new page is tested automatically.

use std::path::Path;

use crate::architecture::sources;

/// Files that have routes but no pages.
const NO_PAGES: [&str; 5] =
    ["web/health.rs", "web/docs.rs", "web/assets.rs", "web/team_look.rs", "web/routes.rs"];
/// Routes for programs, without a cookie.
const PROGRAM_PATHS: [&str; 7] = [
    "/.well-known/",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/introspect",
    "/stripe/webhook",
    "/manifest.webmanifest",
    "/service-worker.js",
];

/// The path of a page, with parameters in braces, and whether it accepts GET and POST.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) accepts_get: bool,
    pub(crate) accepts_post: bool,
}

/// The routes of all pages.
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
            let route = parse_route(piece, &code);
            let route = route.unwrap_or_else(|| panic!("{}: .route({piece:.60}", file.display()));
            routes.push(route);
        }
    }
    routes.retain(|route| !PROGRAM_PATHS.iter().any(|start| route.path.starts_with(start)));
    routes.sort();
    routes
}

/// Parses what follows `.route(`.
fn parse_route(piece: &str, code: &str) -> Option<Route> {
    let (path, handlers) = piece.split_once(',')?;
    let path = match path.trim() {
        text if text.starts_with('"') => text.trim_matches('"'),
        name => code.split(&format!("const {name}: &str = \"")).nth(1)?.split('"').next()?,
    };
    // The handlers end at the next call on the router or at the end of the function.
    let handlers = handlers.split("\n        .").next()?.split("\n}").next()?;
    let has = |method: &str| handlers.contains(&format!("{method}("));
    Some(Route { path: path.to_owned(), accepts_get: has("get"), accepts_post: has("post") })
}

#[test]
fn parses_routes_from_the_source() {
    let code = "const HERE: &str = \"/here\";\nfn router() {\n    Router::new()\n        .route(HERE, get(list))\n        \
        .route(\"/here/{id}\", get(one).post(change))\n        .route(\n            \"/there\",\n            post(go),\n        )\n}\nfn get() {}";
    let routes: Vec<_> =
        code.split(".route(").skip(1).map(|piece| parse_route(piece, code).unwrap()).collect();
    let route = |path: &str, opens, takes| Route {
        path: path.to_owned(),
        accepts_get: opens,
        accepts_post: takes,
    };
    assert_eq!(
        routes,
        [
            route("/here", true, false),
            route("/here/{id}", true, true),
            route("/there", false, true)
        ]
    );
    assert!(page_routes().iter().any(|route| route.path == "/unsubscribe/{token}"));
}
