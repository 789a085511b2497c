//! Tests of the nginx configuration and the settings in `docs/operations.md`, with a real nginx.

use super::debian::{Club, install_from_debian};
use super::debian::{append, create_club, create_key, expect_status, install, text};
use super::machine::{Machine, Network};
use crate::dist::Release;
use crate::workspace;
use std::fs;

const GUIDE: &str = "docs/operations.md";
/// The path of the settings, and of the configuration in the guide.
const SETTINGS: &str = "/etc/touchline/touchline.toml";
const CONFIGURATION: &str = "/etc/nginx/conf.d/touchline.conf";
/// The paths of the certificate in the guide.
const CERTIFICATE_FOLDER: &str = "/etc/letsencrypt/live/club.example.org";
const CERTIFICATE: &str = "/etc/letsencrypt/live/club.example.org/fullchain.pem";
const PRIVATE_KEY: &str = "/etc/letsencrypt/live/club.example.org/privkey.pem";
/// The public URL in the guide.
const URL: &str = "https://club.example.org";
const API: &str = "/api/public/v1";

/// Requests through nginx reach the service, which sees the client's address, the host and the scheme.
pub(super) fn check(release: &Release, machine: &Machine) -> Result<String, String> {
    let guide = fs::read_to_string(workspace::root().join(GUIDE))
        .map_err(|e| format!("cannot read {GUIDE}: {e}"))?;
    install_nginx(machine, block(&guide, "nginx")?)?;
    machine.run(Network::Own, &["dpkg", "--purge", "touchline"]).ok();
    install(release, machine, &release.version)?;
    let settings = block(&guide, "toml")?;
    append(&machine.path(SETTINGS), settings)?;
    let service = machine.start_service()?;
    let _nginx = machine.start(&["nginx", "-g", "daemon off;"])?;
    wait_for_port(machine)?;
    let club = create_club(machine)?;
    check_requests(machine)?;
    check_client_address(machine, &club)?;
    drop(service);

    // With `base_url`, the service ignores the host and the scheme of a request.
    let path = machine.path(SETTINGS);
    let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let text = text.replace(&format!("base_url = \"{URL}\""), "");
    fs::write(&path, text).map_err(|e| e.to_string())?;
    let _service = machine.start_service()?;
    check_host_and_scheme(machine, &club)?;
    Ok("HTTPS, redirect, client address, host and scheme as documented".into())
}

/// Installs nginx with the configuration of the guide and a certificate that it signed itself.
fn install_nginx(machine: &Machine, configuration: &str) -> Result<(), String> {
    install_from_debian(machine, "nginx-light")?;
    install_from_debian(machine, "openssl")?;
    machine.run(Network::Own, &["mkdir", "-p", CERTIFICATE_FOLDER])?;
    let mut openssl: Vec<_> = "openssl req -x509 -newkey rsa:2048 -nodes -days 9 \
        -subj /CN=club.example.org -addext subjectAltName=DNS:club.example.org"
        .split_whitespace()
        .collect();
    openssl.extend(["-out", CERTIFICATE, "-keyout", PRIVATE_KEY]);
    machine.run(Network::Own, &openssl)?;
    fs::write(machine.path(CONFIGURATION), configuration).map_err(|e| e.to_string())?;
    machine.run(Network::Own, &["nginx", "-t"]).map(drop)
}

fn wait_for_port(machine: &Machine) -> Result<(), String> {
    let args = ["--insecure", "--retry", "30", "--retry-connrefused", "--retry-delay", "1"];
    machine.curl(&[&args[..], &["https://127.0.0.1/healthz"]].concat()).map(drop)
}

/// Pages and the health check work over HTTPS, and HTTP is redirected.
fn check_requests(machine: &Machine) -> Result<(), String> {
    for path in ["/healthz", "/readyz", "/sign-in", "/docs/operations"] {
        request(machine, 200, path, &[])?;
    }
    let resolve = ["--resolve", "club.example.org:80:127.0.0.1"];
    let location = ["--output", "/dev/null", "--write-out", "%{redirect_url}\n%{http_code}"];
    let plain = [&resolve[..], &location, &["http://club.example.org/sign-in?a=1"]].concat();
    let target = expect_status(machine, 301, &plain)?;
    if target.trim() != format!("{URL}/sign-in?a=1") {
        return Err(format!("HTTP is redirected to {target}"));
    }
    Ok(())
}

/// A key for one address works from there only, even if a client sends a forged header.
fn check_client_address(machine: &Machine, club: &Club) -> Result<(), String> {
    let key = create_key(machine, &club.account, &["--cidrs", "127.0.0.2/32"])?;
    let teams = format!("{API}/teams");
    let from = |address| ["--header", key.as_str(), "--interface", address];
    let forged = ["--header", "X-Forwarded-For: 127.0.0.2"];
    request(machine, 200, &teams, &from("127.0.0.2"))?;
    request(machine, 403, &teams, &from("127.0.0.3"))?;
    request(machine, 403, &teams, &[&from("127.0.0.3")[..], &forged].concat())?;
    // Without the proxy, the header counts only from the address of the proxy.
    let direct = format!("http://127.0.0.1:8080{teams}");
    let forged_directly = [&from("127.0.0.3")[..], &forged, &[&direct]].concat();
    expect_status(machine, 403, &forged_directly).map(drop)
}

/// Without `base_url`, the URL of a new calendar feed has the host and the scheme that the proxy forwards.
fn check_host_and_scheme(machine: &Machine, club: &Club) -> Result<(), String> {
    let team = ["--header", &club.authorization, "--json", r#"{"name":"U12","sport":"soccer"}"#];
    let team = request(machine, 201, &format!("{API}/teams"), &team)?;
    let team = serde_json::from_str(&team).map_err(|e| format!("{e}: {team}"))?;
    let body = format!("{{\"team_id\":\"{}\"}}", text(&team, "/data/id")?);
    let args = ["--header", &club.authorization, "--json", &body];
    let url = |response: String| {
        let json = serde_json::from_str(&response).map_err(|e| format!("{e}: {response}"))?;
        text(&json, "/data/url")
    };
    let path = format!("{API}/calendar_feeds");
    let proxied = url(request(machine, 201, &path, &args)?)?;
    if !proxied.starts_with(&format!("{URL}/calendar/")) {
        return Err(format!("through nginx, a calendar feed has the URL {proxied}"));
    }
    // Not from the address of the proxy, so the service must ignore these headers.
    let forged = ["--interface", "127.0.0.3", "--header", "Host: club.example.org"];
    let scheme = ["--header", "X-Forwarded-Proto: https"];
    let direct = format!("http://127.0.0.1:8080{path}");
    let direct = [&args[..], &forged, &scheme, &[&direct]].concat();
    let direct = url(expect_status(machine, 201, &direct)?)?;
    if !direct.starts_with("http://127.0.0.1:8080/calendar/") {
        return Err(format!("without nginx, a calendar feed has the URL {direct}"));
    }
    Ok(())
}

/// Sends a request through nginx, which must present the certificate of the guide.
fn request(machine: &Machine, status: u16, path: &str, args: &[&str]) -> Result<String, String> {
    let certificate = machine.path(CERTIFICATE);
    let certificate = certificate.to_str().ok_or("the temporary folder is not UTF-8")?;
    let url = format!("{URL}{path}");
    let resolve = ["--resolve", "club.example.org:443:127.0.0.1", "--cacert", certificate];
    expect_status(machine, status, &[&resolve[..], args, &[&url]].concat())
}

/// The first code block in this language.
fn block<'a>(guide: &'a str, language: &str) -> Result<&'a str, String> {
    let start = format!("```{language}\n");
    let block = guide.split_once(&start).and_then(|(_, rest)| rest.split_once("```"));
    block.map(|(block, _)| block).ok_or_else(|| format!("{GUIDE} has no {language} block"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guide_has_the_tested_blocks() {
        let guide = "text\n```toml\na = 1\n```\n```nginx\nserver {}\n```\n";
        assert_eq!(block(guide, "nginx"), Ok("server {}\n"));
        assert_eq!(block(guide, "toml"), Ok("a = 1\n"));
        assert!(block(guide, "caddy").is_err());
    }
}
