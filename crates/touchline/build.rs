//! Removes the symbols from optimized programs. `strip` in the profile does not: Cargo ignores it for a package whose
//! profile has an override.

#[expect(clippy::disallowed_methods, reason = "Cargo passes the profile in the environment")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
