//! Tests of pages in general: error pages, caching and security headers.

use testkit::{World, both};

/// The `Accept` header of a browser.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

both! {
    async fn browsers_get_error_pages_and_programs_get_problem_json(w: &World) {
        let browser = w.nobody.with_header("Accept", BROWSER);
        let page = browser.get("/docs/nothing").await;
        assert_eq!(page.status, 404);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        let id = page.header("request-id").unwrap();
        assert!(page.text.contains("Page not found") && page.text.contains(id), "{}", page.text);
        assert_eq!(page.text.matches("<h1>").count(), 1);

        let refused = browser.send("DELETE", "/docs", None).await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET,HEAD")));
        assert!(refused.text.contains("<h1>"));

        w.nobody.get("/docs/nothing").await.assert_problem(404, "not_found");
        browser.get("/api/public/v1/nothing").await.assert_problem(404, "not_found");
        browser.get("/api/public/v1/me").await.assert_problem(401, "missing_credentials");
        for program in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            let answer = browser.send("POST", program, None).await;
            assert_ne!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{program}");
        }
    }

    async fn versioned_assets_are_cached_forever(w: &World) {
        let page = w.nobody.with_header("Accept", BROWSER).get("/docs/nothing").await.text;
        let links = page.split('"').filter(|part| part.starts_with("/assets/"));
        let links: Vec<&str> = links.map(|link| link.split('#').next().unwrap()).collect();
        assert!(links.iter().any(|link| link.starts_with("/assets/app.css?v=")), "{links:?}");
        for link in links {
            let asset = w.nobody.get(link).await.ok();
            assert_eq!(asset.header("cache-control"), Some("public, max-age=31536000, immutable"), "{link}");
            assert_eq!(asset.header("x-content-type-options"), Some("nosniff"));
            let (unversioned, _) = link.split_once('?').unwrap();
            for other in [unversioned.to_owned(), format!("{unversioned}?v=AAAAAAAAAAAA")] {
                let short_lived = w.nobody.get(&other).await.ok();
                assert_eq!(short_lived.header("cache-control"), Some("public, max-age=300"), "{other}");
                assert_eq!(short_lived.text, asset.text);
            }
            let compressed = w.nobody.with_header("Accept-Encoding", "gzip").send("HEAD", link, None).await;
            assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{link}");
        }
        let style = w.nobody.get("/assets/app.css").await.ok();
        assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
        let icon = w.nobody.get("/favicon.ico").await.ok();
        assert_eq!(icon.header("content-type"), Some("image/svg+xml"));
        for wrong in ["/assets/", "/assets/nothing.css", "/assets/..%2fCargo.toml"] {
            w.nobody.get(wrong).await.assert_problem(404, "not_found");
        }
    }

    async fn https_sites_send_hsts_and_error_responses_forbid_loading_resources(w: &World) {
        let missing = w.nobody.get("/nope").await.assert_problem(404, "not_found");
        assert!(missing.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(missing.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(missing.header("strict-transport-security"), None);
        let node = w.node(|config| config.base_url = Some("https://club.example.org".parse().unwrap())).await;
        for path in ["/sign-in", "/nope", "/healthz"] {
            let answer = w.nobody.at(node.address).page("GET", path, None).await;
            assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"), "{path}");
        }
        node.stop().await;
    }
}
