//! Tests of request bodies: invalid JSON, invalid text, and bodies that are too large.

use testkit::client::read_response;
use testkit::{Client, TestResponse, Value, World, both, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Posts bytes that need not be text.
async fn post_bytes(client: &Client, body: &[u8]) -> TestResponse {
    post_with_length(client, &format!("Content-Length: {}", body.len()), body).await
}

/// Posts bytes with this header for their length, and waits for the answer without sending more.
async fn post_with_length(client: &Client, header: &str, body: &[u8]) -> TestResponse {
    let (name, value) = header.split_once(": ").unwrap();
    let client = client.with_header("Content-Type", "application/json").with_header(name, value);
    let mut bytes = client.request("POST", "/teams", None);
    bytes.extend_from_slice(body);
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    read_response(&mut stream, "POST").await.unwrap()
}

/// Posts text as the body of a new team.
async fn post(w: &World, body: &str) -> TestResponse {
    w.owner.send("POST", "/teams", Some(body)).await
}

const MAX_BODY: usize = 1024 * 1024;

both! {
    async fn rejects_duplicate_names_at_any_depth(w: &World) {
        for body in [
            r#"{"name":"Kraken","name":"Kraken"}"#,
            r#"{"name":"Kraken","n\u0061me":"Hydra"}"#,
            r#"{"name":"Kraken","metadata":{"a":"1","a":"1"}}"#,
            r#"{"name":"Kraken","metadata":{"a":"1","\u0061":"2"}}"#,
            r#"{"name":"Kraken","unknown":[{"x":{"a":1,"b":2,"a":3}}]}"#,
        ] {
            post(w, body).await.assert_problem(400, "invalid_json");
        }
        assert_eq!(w.count("team").await, 0);
        // The same name in different objects is allowed.
        let body = r#"{"name":"Kraken","metadata":{"name":"x","metadata":"y"}}"#;
        post(w, body).await.created();
    }

    async fn names_unknown_fields(w: &World) {
        let body = json!({ "name": "Kraken", "coach": "Bo", "a/b~c": 1, "": null });
        let refused = w.owner.post("/teams", body).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["/", "/a~1b~0c", "/coach"]);
        assert_eq!(refused.body["errors"][0]["code"], "unknown_field");
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        // Fields that the service sets cannot be changed.
        let read_only = ["account_id", "created_at", "id", "name_folded", "object", "roster_count",
            "status", "updated_at", "version"];
        let body: Value = read_only.iter().map(|name| (*name, team.data()[name].clone())).collect();
        let refused = w.owner.patch(&team.path(""), body).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers(), read_only.map(|name| format!("/{name}")));
        let refused = w.owner.post(&team.path("/restore"), json!({ "x": 1 })).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").pointers(), ["/x"]);
        let refused = w.owner.send("DELETE", &team.path(""), Some(r#"{"x":1}"#)).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").pointers(), ["/x"]);
    }

    async fn names_unknown_parameters(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let path = team.path("?page=2&Limit=5");
        for path in ["/me?page=2&Limit=5", "/teams?page=2&Limit=5&limit=5", &path] {
            let refused = w.owner.get(path).await.assert_problem(400, "invalid_parameter");
            assert_eq!(refused.parameters(), ["Limit", "page"], "{path}");
        }
        let refused = w.owner.post("/teams?x=1", json!({ "name": "Hydra" })).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["x"]);
        let refused = w.owner.patch(&team.path("?x=1"), json!({})).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["x"]);
        w.owner.delete(&team.path("?x=1")).await.assert_problem(400, "invalid_parameter");
        assert_eq!(w.count("team").await, 1);
    }

    async fn reports_at_most_fifty_errors(w: &World) {
        let fields: Value = (0..60).map(|n| (format!("x{n}"), json!(n))).collect();
        let refused = w.owner.post("/teams", fields).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers().len(), 50);
        let pairs: Vec<_> = (0..60).map(|n| format!("x{n}=1")).collect();
        let refused = w.owner.get(&format!("/teams?{}", pairs.join("&"))).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters().len(), 50);
    }

    async fn rejects_a_body_that_is_not_an_object(w: &World) {
        for body in [
            "", " \n", "null", "[]", "[{\"name\":\"Kraken\"}]", "\"Kraken\"", "7", "true",
            r#"{"name":"A"}{"name":"B"}"#, r#"{"name":"A"} x"#, r#"{"name":"A",}"#, "{name:1}",
            "{'name':'A'}", r#"{"name":"A"}//"#, r#"{"name":NaN}"#, r#"{"name":"A""#, "\u{feff}{}",
            "{\"name\":\"A\u{0}\"}", "{\"name\":\"A\nB\"}",
        ] {
            post(w, body).await.assert_problem(400, "invalid_json");
        }
        let none = w.owner.send("POST", "/teams", None).await;
        none.assert_problem(415, "unsupported_media_type");
        let team = post(w, "{\"name\":\"Kraken\"}").await.created();
        w.owner.send("PATCH", &team.path(""), Some("[]")).await.assert_problem(400, "invalid_json");
        w.owner.send("DELETE", &team.path(""), Some("[]")).await.assert_problem(400, "invalid_json");
        assert_eq!(w.count("team").await, 1);
    }

    async fn rejects_a_body_with_ten_thousand_levels(w: &World) {
        let (open, close) = ("[".repeat(10_000), "]".repeat(10_000));
        post(w, &open).await.assert_problem(400, "invalid_json");
        post(w, &format!("{{\"name\":{open}{close}}}")).await.assert_problem(400, "invalid_json");
        let objects = "{\"metadata\":".repeat(10_000) + &"}".repeat(10_000);
        post(w, &objects).await.assert_problem(400, "invalid_json");
    }

    async fn rejects_bytes_that_are_not_utf8(w: &World) {
        let body = r#"{"name":"Kraken"}"#;
        let wide = |bytes: fn(u16) -> [u8; 2]| body.encode_utf16().flat_map(bytes).collect();
        let (little, big): (Vec<u8>, Vec<u8>) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
        let marked: Vec<_> = [0xff, 0xfe].into_iter().chain(little.iter().copied()).collect();
        let latin1 = b"{\"name\":\"Kr\xe4ken\"}";
        let (overlong, surrogate) = (b"{\"name\":\"\xc0\x80\"}", b"{\"name\":\"\xed\xa0\x80\"}");
        let gzip = b"\x1f\x8b\x08\0\0\0\0\0";
        for bytes in [&little[..], &big, &marked, latin1, overlong, surrogate, gzip] {
            post_bytes(&w.owner, bytes).await.assert_problem(400, "invalid_json");
        }
        for lone in [r"\ud800", r"\udc00", r"\udc00\ud800", r"\ud800x"] {
            post(w, &format!("{{\"name\":\"{lone}\"}}")).await.assert_problem(400, "invalid_json");
        }
        let pair = post(w, r#"{"name":"\ud83c\udfc9"}"#).await.created();
        assert_eq!(pair.data()["name"], "🏉");
        assert_eq!(w.count("team").await, 1);
    }

    async fn rejects_control_characters(w: &World) {
        for control in ["\\u0000", "\\u0007", "\\u001b[2J", "\\u007f", "\\u0085", "\\n", "\\t"] {
            let body = r#"{"name":"a_b","metadata":{"a_b":"x"}}"#.replace('_', control);
            let refused = post(w, &body).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.body["errors"][0]["code"], "control_character");
            assert_eq!(refused.pointers().len(), 2, "{}", refused.text);
        }
        let refused = post(w, r#"{"name":"a","description":"x\u0000"}"#).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/description"]);
        let body = json!({ "name": "\t a \n", "description": "one\n\ttwo\n" });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["name"], "a");
        assert_eq!(team.data()["description"], "one\n\ttwo");
    }

    async fn normalizes_text_to_nfc(w: &World) {
        let e = "e\u{301}";
        let body = json!({ "name": format!("Caf{e}"), "sport": e, "metadata": { e: e } });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["name"], "Caf\u{e9}");
        assert_eq!(team.data()["sport"], "\u{e9}");
        assert_eq!(team.data()["metadata"], json!({ "\u{e9}": "\u{e9}" }));
        // Length is counted after normalization: 120 letters with accents are 120 characters.
        let long = json!({ "name": "e\u{301}".repeat(120) });
        w.owner.post("/teams", long).await.created();
        let twice = json!({ "name": "X", "metadata": { "e\u{301}": "1", "\u{e9}": "2" } });
        let refused = w.owner.post("/teams", twice).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["code"], "repeated");
    }

    async fn keeps_invisible_characters_and_treats_such_names_as_different(w: &World) {
        let names =
            ["Kraken", "Kra\u{200b}ken", "\u{202e}Kraken", "Kraken\u{feff}", "Kra\u{2028}ken"];
        for name in names {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        assert_eq!(w.reader.get("/teams").await.ok().names(), names);
    }

    async fn a_number_is_neither_text_nor_a_boolean(w: &World) {
        post(w, r#"{"name":1e400}"#).await.assert_problem(400, "invalid_json");
        post(w, r#"{"name":-1e999999}"#).await.assert_problem(400, "invalid_json");
        for number in ["-0", "0", "1.0", "9007199254740993", "18446744073709551616", "1e300"] {
            let body = r#"{"name":#,"unique_jerseys":#,"metadata":{"k":#}}"#.replace('#', number);
            let refused = post(w, &body).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/name", "/unique_jerseys", "/metadata/k"], "{number}");
            assert_eq!(refused.body["errors"][0]["code"], "wrong_type");
        }
    }

    async fn rejects_other_media_types_and_compressed_bodies(w: &World) {
        let body = Some(r#"{"name":"Kraken"}"#);
        for kind in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx",
            "application/json; charset=utf-16", "multipart/form-data; boundary=x"]
        {
            let client = w.owner.with_header("Content-Type", kind);
            client.send("POST", "/teams", body).await.assert_problem(415, "unsupported_media_type");
        }
        for encoding in ["gzip", "br", "identity, gzip"] {
            let client = w.owner.with_header("Content-Encoding", encoding);
            client.send("POST", "/teams", body).await.assert_problem(415, "unsupported_media_type");
        }
        let untyped = w.owner.with_header("Content-Length", "17").request("POST", "/teams", None);
        let answer = w.owner.send_raw(&[&untyped[..], br#"{"name":"Kraken"}"#].concat()).await;
        assert!(answer.starts_with("HTTP/1.1 415 ") && answer.contains("unsupported_media_type"));
        assert_eq!(w.count("team").await, 0);
        let right = ["application/json;charset=UTF-8", "Application/JSON ; charset=\"utf-8\""];
        for (number, kind) in right.into_iter().enumerate() {
            let client = w.owner.with_header("Content-Type", kind);
            client.post("/teams", json!({ "name": format!("Team {number}") })).await.created();
        }
    }

    async fn rejects_a_body_over_the_limit_before_it_has_arrived(w: &World) {
        // With a length: rejected before any byte of the body was sent.
        let length = format!("Content-Length: {}", MAX_BODY + 1);
        post_with_length(&w.owner, &length, b"").await.assert_problem(413, "payload_too_large");
        // Without a length: rejected at the first byte over the limit, before the end was sent.
        let mut chunk = format!("{:x}\r\n", MAX_BODY + 1).into_bytes();
        chunk.resize(chunk.len() + MAX_BODY + 1, b' ');
        let refused = post_with_length(&w.owner, "Transfer-Encoding: chunked", &chunk).await;
        refused.assert_problem(413, "payload_too_large");
        let mut largest = r#"{"name":"Kraken"}"#.to_owned();
        largest.push_str(&" ".repeat(MAX_BODY - largest.len()));
        post(w, &largest).await.created();
    }

    async fn a_change_clears_null_fields_and_keeps_absent_ones(w: &World) {
        let all = json!({
            "name": "Kraken", "sport": "soccer", "season": "2026", "age_group": "U12",
            "gender": "girls", "timezone": "Europe/Lisbon", "color": "#0b5cad",
            "description": "x", "unique_jerseys": true, "external_id": "e1",
            "metadata": { "a": "b" }
        });
        let team = w.owner.post("/teams", all.clone()).await.created();
        let unchanged = w.owner.patch(&team.path(""), json!({})).await.ok();
        assert_eq!(unchanged.data(), team.data());
        let mut nothing = all.clone();
        nothing.as_object_mut().unwrap().remove("name");
        nothing.as_object_mut().unwrap().values_mut().for_each(|value| *value = Value::Null);
        let cleared = w.owner.patch(&team.path(""), nothing.clone()).await.ok();
        nothing["timezone"] = json!("UTC");
        nothing["unique_jerseys"] = json!(false);
        nothing["metadata"] = json!({});
        for (name, value) in nothing.as_object().unwrap() {
            assert_eq!(&cleared.data()[name], value, "{name}");
        }
        assert_eq!(cleared.data()["name"], "Kraken");
        let refused = w.owner.patch(&team.path(""), json!({ "name": null })).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/name"]);
    }

    async fn a_caller_without_permission_learns_nothing_about_the_body(w: &World) {
        for body in ["{", "[]", r#"{"unknown":1}"#] {
            w.nobody.send("POST", "/teams", Some(body)).await.assert_problem(401, "missing_credentials");
            w.reader.send("POST", "/teams", Some(body)).await.assert_problem(403, "insufficient_scope");
        }
    }
}
