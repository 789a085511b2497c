//! The software bill of materials: the packages that the program contains, in the format `CycloneDX` 1.5.
//!
//! `cargo tree` selects the packages, because it resolves the features of the service alone. `cargo metadata`, which
//! resolves the whole workspace, has their licenses and dependencies.

use super::{Release, archive};
use crate::job::Job;
use crate::{suite, workspace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const SERVICE: &str = "touchline";

/// The name and version of a package.
type PackageKey = (String, String);

/// Writes the SBOM next to the packages.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let target = format!("{}-unknown-linux-gnu", release.processor);
    let contained = contained_packages(&target)?;
    let metadata = metadata(&target)?;
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))
        .map_err(|e| format!("cannot read Cargo.lock: {e}"))?;
    let time = Job::new("date", ["-u", "-d", &format!("@{}", release.time), "+%Y-%m-%dT%H:%M:%SZ"])
        .run_checked()?
        .join("");
    let sbom = document(&metadata, &contained, &checksums(&lock), &time)?;
    let text = serde_json::to_string_pretty(&sbom).map_err(|e| e.to_string())? + "\n";
    archive::write(&release.packages.join(release.sbom_name()), text.as_bytes(), 0o644)
}

/// The packages whose code is in the program: normal dependencies, without procedural macros.
fn contained_packages(target: &str) -> Result<BTreeSet<PackageKey>, String> {
    let edges = "normal,no-proc-macro";
    let lines = cargo(&["tree", "-p", SERVICE, "-e", edges, "--target", target, "--prefix=none"])?;
    Ok(parse_tree(&lines))
}

fn parse_tree(lines: &[String]) -> BTreeSet<PackageKey> {
    let parse = |line: &String| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((name.to_owned(), version.to_owned()))
    };
    lines.iter().filter_map(parse).collect()
}

fn metadata(target: &str) -> Result<Value, String> {
    let lines = cargo(&["metadata", "--format-version=1", "--filter-platform", target])?;
    let line = lines.iter().find(|line| line.starts_with('{'));
    serde_json::from_str(line.map_or("", String::as_str))
        .map_err(|e| format!("`cargo metadata` did not print JSON: {e}"))
}

fn cargo(args: &[&str]) -> Result<Vec<String>, String> {
    let args = [args, &["--locked", "--quiet"]].concat();
    suite::cargo(&args).env("CARGO_TERM_COLOR", "never").run_checked()
}

/// The SHA-256 checksums of the packages in `Cargo.lock`. Packages of the workspace have none.
fn checksums(lock: &str) -> BTreeMap<PackageKey, String> {
    let value = |block: &str, field: &str| {
        let start = format!("{field} = \"");
        let line = block.lines().find_map(|line| line.strip_prefix(&start))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let read = |block: &str| {
        let key = (value(block, "name")?, value(block, "version")?);
        Some((key, value(block, "checksum")?))
    };
    lock.split("[[package]]").filter_map(read).collect()
}

fn document(
    metadata: &Value,
    contained: &BTreeSet<PackageKey>,
    checksums: &BTreeMap<PackageKey, String>,
    time: &str,
) -> Result<Value, String> {
    // By id of Cargo, in the order of names.
    let packages: BTreeMap<&str, &Value> = array(metadata, "/packages")
        .iter()
        .filter(|package| contained.contains(&key(package)))
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    if packages.len() != contained.len() {
        return Err("`cargo tree` and `cargo metadata` list different packages".into());
    }
    let mut sorted: Vec<&Value> = packages.values().copied().collect();
    sorted.sort_by_key(|package| key(package));
    let (service, libraries): (Vec<&Value>, Vec<&Value>) =
        sorted.into_iter().partition(|package| package["name"] == SERVICE);
    let service = service.first().ok_or("the package of the service is missing")?;
    let component = |package: &Value, kind: &str| component(package, kind, checksums);
    let components: Vec<_> =
        libraries.iter().map(|package| component(package, "library")).collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": time, "component": component(service, "application") },
        "components": components,
        "dependencies": dependencies(metadata, &packages),
    }))
}

fn component(package: &Value, kind: &str, checksums: &BTreeMap<PackageKey, String>) -> Value {
    let reference = reference(package);
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "name": package["name"],
        "version": package["version"],
        "purl": reference,
    });
    if let Some(description) = package["description"].as_str() {
        component["description"] = description.trim().into();
    }
    if let Some(license) = package["license"].as_str() {
        // An old notation of Cargo for alternatives.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(checksum) = checksums.get(&key(package)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// What each package depends on.
fn dependencies(metadata: &Value, packages: &BTreeMap<&str, &Value>) -> Vec<Value> {
    let find = |id: &Value| packages.get(id.as_str()?).copied();
    let is_normal = |dependency: &&Value| {
        array(dependency, "/dep_kinds").iter().any(|kind| kind["kind"].is_null())
    };
    let edges = |node: &Value| {
        let found = array(node, "/deps").iter().filter(is_normal);
        let found = found.filter_map(|dependency| find(&dependency["pkg"])).map(reference);
        found.collect::<BTreeSet<_>>()
    };
    let nodes = array(metadata, "/resolve/nodes").iter();
    let nodes = nodes.filter_map(|node| Some((reference(find(&node["id"])?), edges(node))));
    let nodes: BTreeMap<_, _> = nodes.collect();
    nodes.iter().map(|(package, edges)| json!({ "ref": package, "dependsOn": edges })).collect()
}

/// The package URL, which also identifies the package within the document.
fn reference(package: &Value) -> String {
    let (name, version) = key(package);
    // Some decoders read `+` as a space, so it is encoded in package URLs.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn key(package: &Value) -> PackageKey {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    (text("name"), text("version"))
}

fn array<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_contained_packages_only() {
        let normal = json!([{ "kind": null }]);
        let dev = json!([{ "kind": "dev" }]);
        let metadata = json!({
            "packages": [
                { "id": "1", "name": "touchline", "version": "0.1.0", "license": "Apache-2.0" },
                { "id": "2", "name": "csv", "version": "1.4.0+x", "license": "Unlicense/MIT" },
                { "id": "3", "name": "proptest", "version": "1.12.0" },
            ],
            "resolve": { "nodes": [
                { "id": "1", "deps": [{ "pkg": "2", "dep_kinds": normal }, { "pkg": "3", "dep_kinds": dev }] },
                { "id": "2", "deps": [] },
                { "id": "3", "deps": [{ "pkg": "2", "dep_kinds": normal }] },
            ] },
        });
        let tree = ["touchline v0.1.0 (/a)", "csv v1.4.0+x", "csv v1.4.0+x (*)", ""];
        let contained = parse_tree(&tree.map(str::to_owned));
        let lock = "[[package]]\nname = \"csv\"\nversion = \"1.4.0+x\"\nchecksum = \"ab\"\n";
        let sbom = document(&metadata, &contained, &checksums(lock), "").unwrap();
        assert_eq!(sbom["metadata"]["component"]["name"], "touchline");
        let components = array(&sbom, "/components");
        assert_eq!(components.len(), 1);
        assert_eq!(components[0]["purl"], "pkg:cargo/csv@1.4.0%2Bx");
        assert_eq!(components[0]["licenses"][0]["expression"], "Unlicense OR MIT");
        assert_eq!(components[0]["hashes"][0]["content"], "ab");
        let edge =
            json!({ "ref": "pkg:cargo/touchline@0.1.0", "dependsOn": ["pkg:cargo/csv@1.4.0%2Bx"] });
        assert_eq!(array(&sbom, "/dependencies").len(), 2);
        assert!(array(&sbom, "/dependencies").contains(&edge));
    }
}
