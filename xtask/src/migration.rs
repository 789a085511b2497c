//! Creates the next migration file.

use crate::workspace;
use std::fs;
use std::io::Write;
use std::path::Path;

pub(crate) fn create(words: &[String]) -> Result<(), String> {
    let name = parse_name(words)?;
    let folder = workspace::root().join("migrations");
    let file = format!("{:04}_{name}.sql", next_number(&folder)?);
    let failed = |e: std::io::Error| format!("cannot write migrations/{file}: {e}");
    let mut new = fs::File::create_new(folder.join(&file)).map_err(failed)?;
    writeln!(new, "-- Runs on SQLite and PostgreSQL. Never edit a released migration.")
        .map_err(failed)?;
    println!("migrations/{file}");
    Ok(())
}

fn parse_name(words: &[String]) -> Result<String, String> {
    let name = words.join("_").to_lowercase().replace([' ', '-'], "_");
    let valid = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if valid && name.starts_with(|c: char| c.is_ascii_lowercase()) {
        Ok(name)
    } else {
        Err(format!(
            "invalid migration name `{name}`: start with a letter, then use only letters, digits and _"
        ))
    }
}

fn next_number(folder: &Path) -> Result<u32, String> {
    let failed = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut last = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.file_name();
        let number = file.to_string_lossy().split('_').next().and_then(|n| n.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn names_are_normalized_or_rejected() {
        let name = |text: &str| parse_name(&[text.to_owned()]);
        assert_eq!(name("Away-Uniforms"), Ok("away_uniforms".into()));
        assert_eq!(parse_name(&["away".into(), "uniforms".into()]), Ok("away_uniforms".into()));
        assert!(name("../away").is_err());
        assert!(name("7").is_err());
        assert!(name("").is_err());
    }

    #[test]
    fn next_number_follows_the_highest() {
        let folder = scratch::folder("migrations").unwrap();
        assert_eq!(next_number(&folder), Ok(1));
        for file in ["0001_accounts.sql", "0012_teams.sql", "README.md"] {
            fs::write(folder.join(file), "").unwrap();
        }
        assert_eq!(next_number(&folder), Ok(13));
        fs::remove_dir_all(folder).unwrap();
    }
}
