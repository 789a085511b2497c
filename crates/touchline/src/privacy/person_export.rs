//! Collects the stored data about a person from all modules.

use serde_json::Map;
use utoipa::PartialSchema;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

use crate::personal_data::PersonalData;
use crate::prelude::*;
use crate::roster::{merge, person};
use crate::{personal_data, roster};

/// All stored data about a person.
#[derive(Debug, Serialize)]
#[serde(tag = "object", rename = "person_export")]
pub struct PersonExport {
    pub person_id: PersonId,
    pub created_at: Timestamp,
    /// The person, their memberships, dependents and guardians.
    pub roster: Value,
    /// The sections of all modules. A section is `null` if the caller lacks its scope.
    #[serde(flatten)]
    pub sections: Map<String, Value>,
}

/// Records in the audit log that the data of a person is exported.
pub fn record(tx: &Tx<'_>, id: PersonId) -> Result<()> {
    merge::or_gone(tx, &TeamAccess::AllTeams, id, person::find(tx, id))?;
    let subject = id.to_string();
    tx.audit("person.exported", &subject, &json!({ "person_ids": [subject] }))
}

/// Collects the data that a credential with these scopes may read.
pub fn collect(db: &Reader<'_>, scopes: Scopes, id: PersonId) -> Result<PersonExport> {
    let export = |data: PersonalData| {
        let visible = data.scope.is_none_or(|scope| scopes.contains(scope));
        let section = visible.then(|| (data.export)(db, id)).transpose()?;
        Ok((data.section.to_owned(), section.unwrap_or_default()))
    };
    Ok(PersonExport {
        person_id: id,
        created_at: db.now(),
        roster: roster::erasure::export_person(db, id)?,
        sections: personal_data().map(export).collect::<Result<_>>()?,
    })
}

impl ToSchema for PersonExport {
    fn name() -> std::borrow::Cow<'static, str> {
        "PersonExport".into()
    }
}

impl PartialSchema for PersonExport {
    fn schema() -> RefOr<Schema> {
        let roster = Object::new();
        let mut schema = ObjectBuilder::new()
            .title(Some("person_export"))
            .description(Some("All stored data about a person."))
            .property("person_id", utoipa::openapi::Ref::from_schema_name(PersonId::name()))
            .required("person_id")
            .property("created_at", utoipa::openapi::Ref::from_schema_name(Timestamp::name()))
            .required("created_at");
        let description = "The person, their memberships, dependents and guardians.";
        schema = schema
            .property("roster", ObjectBuilder::from(roster).description(Some(description)))
            .required("roster");
        for data in personal_data() {
            let types = |kind| SchemaType::from_iter([kind, Type::Null]);
            schema = if data.is_list {
                let list = ArrayBuilder::new().schema_type(types(Type::Array)).items(Object::new());
                schema.property(data.section, list.description(Some(data.description)))
            } else {
                let object = ObjectBuilder::new().schema_type(types(Type::Object));
                schema.property(data.section, object.description(Some(data.description)))
            };
        }
        schema.into()
    }
}
