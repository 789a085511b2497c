//! Follows every link of every page as each kind of user, in the demo club and in a new one. Every link leads to a
//! page that the user may open, and every anchor exists. Links in the repository's Markdown files lead to files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use store::Scope;
use testkit::world::{make_account, make_key, new_key};
use testkit::{Browser, Client, Engine, World};
use touchline::accounts::user::{Role, User};
use touchline::demo;
use touchline::ids::{AccountId, PersonId};
use touchline::joining::invitation::{self, NewInvitation};
use touchline::oauth::app::Kind;
use touchline::rights::Scopes;
use touchline::roster::linking;
use touchline::web::docs::guides;
use touchline::web::docs::markdown::slug;
use touchline::web::page::{ACCOUNT, ADMIN};

/// How many pages of one kind are opened, such as pages of orders.
const MAX_PER_KIND: usize = 2;
/// No user finds more pages than this.
const MAX_PAGES: usize = 600;

/// The values of all attributes with this name.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    let values = html.split(start.as_str()).skip(1);
    values.map(|rest| rest.split('"').next().unwrap_or_default()).collect()
}

/// The URL and anchor of a link as the browser resolves it, or `None` if it leads to another site.
fn target(page: &str, link: &str) -> Option<(String, Option<String>)> {
    let link = link.replace("&#38;", "&").replace("&amp;", "&");
    let (url, anchor) = match link.split_once('#') {
        Some((url, anchor)) => (url.to_owned(), Some(anchor.to_owned())),
        None => (link, None),
    };
    let scheme = url.split(['/', '?']).next().is_some_and(|start| start.contains(':'));
    if scheme || url.starts_with("//") {
        return None;
    }
    let path = page.split('?').next().unwrap();
    let url = match url {
        url if url.is_empty() => page.to_owned(),
        url if url.starts_with('/') => url,
        url if url.starts_with('?') => format!("{path}{url}"),
        url => format!("{}/{url}", path.rsplit_once('/').unwrap().0),
    };
    Some((url, anchor))
}

/// The kind of page that a URL leads to: the URL without ids and query values.
fn kind(url: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let part = |part: &str| {
        let id = part.split_once('_').is_some_and(|(_, id)| id.len() == 26);
        if id { "{id}".to_owned() } else { part.to_owned() }
    };
    let path: Vec<_> = path.split('/').map(part).collect();
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    format!(
        "{}?{}",
        path.join("/"),
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("&")
    )
}

/// Follows every link, starting at these pages. Returns the opened pages by URL.
async fn crawl(who: &str, mut browser: Browser, starts: &[&str]) -> BTreeMap<String, String> {
    let mut queue: VecDeque<_> =
        starts.iter().map(|start| (String::new(), (*start).to_owned())).collect();
    let (mut pages, mut kinds) = (BTreeMap::new(), BTreeMap::<String, usize>::new());
    let mut anchors = Vec::new();
    while let Some((from, url)) = queue.pop_front() {
        let opened = kinds.entry(kind(&url)).or_default();
        if pages.contains_key(&url) || *opened >= MAX_PER_KIND {
            continue;
        }
        *opened += 1;
        let page = browser.open(&url).await;
        assert_eq!(
            page.status, 200,
            "{who}: {from} links to {url}, which answers {}: {}",
            page.status, page.text
        );
        let html = page.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        let links =
            ["href", "src", "action"].into_iter().flat_map(|name| attributes(&page.text, name));
        for link in links.filter(|_| html) {
            let Some((to, anchor)) = target(&url, link) else { continue };
            // Other tests check what submitting a form leads to.
            if page.text.contains(&format!("method=\"post\" action=\"{link}\"")) {
                continue;
            }
            anchors.extend(anchor.map(|anchor| (url.clone(), to.clone(), anchor)));
            // The documentation is large; opening it once is enough.
            if !url.starts_with("/docs") || starts.contains(&"/docs") {
                queue.push_back((url.clone(), to));
            }
        }
        pages.insert(url, page.text);
        assert!(pages.len() < MAX_PAGES, "{who} finds more than {MAX_PAGES} pages");
    }
    for (from, to, anchor) in anchors {
        // A page that was not opened is like one that was.
        let Some(text) = pages.get(&to) else { continue };
        let exists = text.contains(&format!("id=\"{anchor}\""));
        assert!(exists, "{who}: {from} links to {to}#{anchor}, which has no such id");
    }
    pages
}

/// Asserts that every menu entry was opened, and that its page shows the menu with the entry marked.
fn assert_menu(who: &str, pages: &BTreeMap<String, String>, admin: bool) {
    let menus = if admin { [ADMIN, ACCOUNT].concat() } else { ACCOUNT.to_vec() };
    for section in menus.iter().flat_map(|(_, sections)| sections.iter()) {
        let page = pages.get(section.href());
        let page = page.unwrap_or_else(|| panic!("{who} does not find {}", section.href()));
        let marked = format!("<a href=\"{}\" aria-current=\"page\">", section.href());
        assert!(page.contains(&marked), "{who}: {} loses its menu", section.href());
    }
}

/// Adds what links can lead to and the demo club lacks.
async fn add_missing_data(w: &World, club: AccountId, owner: &User) {
    w.app_of(club, Kind::Server, "https://app.example/back", "teams:read").await;
    let (email, by) = ("invited@example.org".to_owned(), owner.id);
    let new = NewInvitation { email, role: Role::Member, relation_to: None };
    let invite = move |tx: &store::Tx<'_>| invitation::invite(tx, by, new);
    w.db().write(Scope::account(club, "test"), invite).await.unwrap();
}

/// A coach, a player and a guardian of the demo club.
async fn people(w: &World) -> [String; 3] {
    let (_, value) =
        make_key(w.db(), demo::ACCOUNT, new_key(&Scopes::all_named().to_string())).await;
    let key = Client::new(w.node.address, Some(&value));
    let teams = key.get("/teams").await.ok();
    let team = teams.data()[0]["id"].as_str().unwrap();
    let roster = key.get(&format!("/teams/{team}/roster?include=private&limit=100")).await.ok();
    let members = roster.data().as_array().unwrap().clone();
    let person_with = |role: &str| {
        members.iter().find(|member| member["role"] == role).unwrap()["person_id"].clone()
    };
    let guardian = members.iter().find_map(|member| member["guardians"][0]["id"].as_str());
    let text = |id: &testkit::Value| id.as_str().unwrap().to_owned();
    [text(&person_with("coach")), text(&person_with("player")), guardian.unwrap().to_owned()]
}

async fn member(w: &World, email: &str, person: &str) -> User {
    let user = w.user_of(demo::ACCOUNT, Role::Member, email).await;
    let (person, id): (PersonId, _) = (person.parse().unwrap(), user.id);
    let link = move |tx: &store::Tx<'_>| linking::link(tx, person, id);
    w.db().write(Scope::account(demo::ACCOUNT, "test"), link).await.unwrap();
    user
}

#[test]
fn every_link_of_the_demo_club_leads_somewhere() {
    testkit::world::run(Engine::Sqlite, async |w: &World| {
        demo::load(&w.node.app).await.unwrap();
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "owner@example.org").await;
        let admin = w.user_of(demo::ACCOUNT, Role::Admin, "admin@example.org").await;
        add_missing_data(w, demo::ACCOUNT, &owner).await;
        let [coach, player, guardian] = people(w).await;
        let coach = member(w, "coach@example.org", &coach).await;
        let player = member(w, "player@example.org", &player).await;
        let parent = member(w, "parent@example.org", &guardian).await;
        let everybody = [
            ("owner", owner, true),
            ("admin", admin, true),
            ("coach", coach, false),
            ("player", player, false),
            ("parent", parent, false),
        ];
        for (who, user, is_admin) in everybody {
            let browser = w.browser_at(user.id, Some(demo::ACCOUNT)).await;
            let pages = crawl(who, browser, &["/", "/account", "/accounts"]).await;
            assert_menu(who, &pages, is_admin);
            assert_eq!(pages.contains_key("/admin"), is_admin, "{who}");
        }
    });
}

#[test]
fn every_link_leads_somewhere_for_people_without_a_club() {
    testkit::world::run(Engine::Sqlite, async |w: &World| {
        // Before anybody can sign in, the start page says what to do.
        let pages =
            crawl("nobody, before the set-up", w.anonymous_browser(), &["/", "/sign-in"]).await;
        assert!(pages["/"].contains("touchline set-up-link"));
        let other_club = make_account(w.db(), "Elsewhere", w.clock.clock().now()).await;
        let user = w.user_of(other_club, Role::Member, "alone@example.org").await;
        let pages = crawl("nobody", w.anonymous_browser(), &["/", "/sign-in", "/docs"]).await;
        for path in touchline::web::docs::paths().await.unwrap() {
            assert!(pages.contains_key(&path), "nothing links to {path}");
        }
        let without = w.browser_at(user.id, None).await;
        let pages =
            crawl("somebody without a club", without, &["/", "/account", "/accounts"]).await;
        assert!(pages.contains_key("/account/claims"));
        // Somebody without any role on a roster sees the same menu.
        let browser = w.browser_at(user.id, Some(other_club)).await;
        assert_menu("outsider", &crawl("outsider", browser, &["/", "/account"]).await, false);
        // A new club has no data yet, and other hints.
        let owner = w.user_of(other_club, Role::Owner, "new@example.org").await;
        let browser = w.browser_at(owner.id, Some(other_club)).await;
        let pages = crawl("owner of a new club", browser, &["/", "/account"]).await;
        assert_menu("owner of a new club", &pages, true);
        assert!(pages["/admin/dues/new"].contains("href=\"/teams/new\""));
    });
}

/// The links of a Markdown text, with code left out.
fn markdown_links(text: &str) -> Vec<String> {
    let code = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let prose: String = code.split('`').step_by(2).collect();
    let links = prose.split("](").skip(1);
    links.map(|rest| rest.split([')', ' ']).next().unwrap_or_default().to_owned()).collect()
}

fn markdown_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && path.ends_with("adr") {
            markdown_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
}

#[test]
fn links_between_markdown_files_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    markdown_files(&root, &mut files);
    markdown_files(&root.join("docs"), &mut files);
    let mut count = 0;
    for file in &files {
        for link in markdown_links(&fs::read_to_string(file).unwrap()) {
            if link.starts_with("http") {
                continue;
            }
            let (url, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if url.is_empty() { file.clone() } else { file.parent().unwrap().join(url) };
            assert!(path.is_file(), "{} links to {link}", file.display());
            if !anchor.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let exists =
                    headings.any(|line| slug(line.trim_start_matches('#').trim()) == anchor);
                assert!(exists, "{} links to {link}", file.display());
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn links_of_the_openapi_document_lead_to_guides() {
    let document = touchline::openapi_json();
    let exists = |url: &str| {
        let name = url.trim_start_matches("/docs").trim_start_matches('/');
        name.is_empty() || guides::all().any(|guide| guide.name == name)
    };
    let links: Vec<_> = document
        .split("](/")
        .skip(1)
        .map(|rest| format!("/{}", rest.split([')', '#']).next().unwrap()))
        .collect();
    assert!(links.len() > 5);
    assert_eq!(
        links.iter().filter(|link| !exists(link)).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}
