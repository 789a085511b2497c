//! Declares the operations of the API and their inputs. A field is written once, with its limits. The macros derive from
//! it how it is read from a request, its schema, and how it is used to create or update a record.
//!
//! The generated code uses `crate::web`, which every crate above `web` re-exports.

mod body;
mod endpoint;
mod field;
mod options;
mod query;
mod record;

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{ItemFn, ItemStruct, LitStr, Path, Token, parse_macro_input, parse_quote};

/// A request body: `#[input(as = CreateTeamRequest)]`. Derives `Debug` and `ToSchema`, and implements `FromBody`.
///
/// Options of the struct:
/// - `as = Name`: the name of the schema.
/// - `require_any(&["a", "b"], "detail")`: at least one of these fields must be sent.
/// - `faults`: adds the result of the struct's method `faults()`, for rules between fields. `faults(if_rejected)` does so
///   only if the body has other faults, because the rules are otherwise checked later, together with the database.
/// - `check = function`: calls `function(&read, fields)`.
/// - `max_bytes = number`: the maximum size of such a body.
///
/// The type of a field says whether it is required (`T`), optional (`Option<T>`) or a change (`Change<T>`). Its options
/// are written as `#[input(…)]`:
/// - `line(max)`, `block(max)`, `number(min, max)` or another method of `Fields`, with the arguments after the name.
///   Literal limits become part of the schema. Flags, times, dates, ids, enums and so on need no method.
///   `object` and `objects(max)` read other inputs.
/// - `with(function)`: reads the field with `function(fields, name)`, which returns a `Change`.
/// - `default` or `default = value`: the value of a field that is omitted or null. For an `Option`, `default = Some(value)`
///   is the value of a field that is omitted; null is `None`.
/// - `non_null`: an optional field that must not be null.
/// - `flatten`: the fields of another body.
/// - `name = "…"`: the name of the field in JSON.
/// - `placeholder = value`: used in place of a missing required value. The body is rejected anyway.
#[proc_macro_attribute]
pub fn input(options: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemStruct);
    body::expand(options.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The inputs of a record: `#[inputs(create(NewTeam, as = CreateTeamRequest), update(TeamChange, …))]`.
///
/// Declares the two structs as `#[input]`s, with a doc comment before each and with `Default`, and `NewTeam::into_record(tx)` and
/// `Team::apply(change)`. Each field of the record with `#[input(…)]` is part of them, and `extra(pub name: Type)` adds
/// fields that the record does not have. Besides the options of [`macro@input`]:
/// - `create_only`: the field cannot be updated.
/// - `resolved`: the field may be null in requests. Its value is passed to `into_record` and `apply`.
/// - `create = "…"`, `update = "…"`, `doc = "…"`: the description in one or both requests, if it differs.
/// - `no_example`: the example of the record is not part of the request.
///
/// A new record gets `#[value(…)]` for other fields, in both cases `#[derived(…)]` (computed from the input fields, by
/// their names), or else an argument of `into_record`.
#[proc_macro_attribute]
pub fn inputs(options: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemStruct);
    record::expand(options.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The query of an operation: `#[query(items = "teams")]`. Implements `FromQuery` and `IntoParams`; a doc comment is the
/// description of its parameter.
///
/// Options of the struct:
/// - `items = "…"`: what a list has on its pages.
/// - `order = Desc`: the default order of a list.
/// - `check = function`: called as `function(&mut read, params)`, for rules between parameters.
///
/// Options of a field, as `#[param(…)]`:
/// - `line(max)` or another method of `Params`, with the arguments after the name.
/// - `with(function)`: reads the parameter with `function(params, name)`.
/// - `or_all(value)`: an enum or `all`, with this default.
/// - `several(field)`: takes several values. If there is not exactly one, they are in the other field.
/// - `name = "…"`: the name of the parameter.
/// - `skip`: not a parameter; has its default value.
/// - `schema(…)`: options of utoipa's `#[param(…)]`.
#[proc_macro_attribute]
pub fn query(options: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemStruct);
    query::expand(options.into(), item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// An object of the API: `#[object("team")]`, before its derives. Its JSON begins with the field `object`, which has this
/// value. The title of the schema holds the value until the document is completed.
#[proc_macro_attribute]
pub fn object(name: TokenStream, item: TokenStream) -> TokenStream {
    let (name, mut item) =
        (parse_macro_input!(name as LitStr), parse_macro_input!(item as ItemStruct));
    item.attrs.push(parse_quote!(#[serde(tag = "object", rename = #name)]));
    item.attrs.push(parse_quote!(#[schema(title = #name)]));
    item.into_token_stream().into()
}

/// An operation of the API: `#[endpoint(get, "/teams/{team_id}", id = "teams.get", tag = "Teams", 200(ObjectResponse<Team>, "The team."))]`.
///
/// The doc comment is its summary and description. The arguments of the function are:
/// - `Caller<Permission>`: the permission implies the scope.
/// - The parameters of the path, in its order. A tuple takes several of them.
/// - The query. Without it, all query parameters are rejected.
/// - `Body<Type>` or `OptionalBody<Type>`. The body of `Body<NoBody>` may be absent.
///
/// Options: `example = json!(…)` of the body, `outcome = json!(…)` with the fields that the operation changes in the example
/// of its response, and `params(…)`, which replaces the parameters in the description.
#[proc_macro_attribute]
pub fn endpoint(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as endpoint::Endpoint);
    let item = parse_macro_input!(item as ItemFn);
    endpoint::expand(options, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The operations of one path: `routes!(list, create)`, from the names of their handlers. Each of them is an
/// [`macro@endpoint`].
#[proc_macro]
pub fn routes(handlers: TokenStream) -> TokenStream {
    let parse = Punctuated::<Path, Token![,]>::parse_terminated;
    let handlers = parse_macro_input!(handlers with parse);
    let described = handlers.iter().map(endpoint::description);
    let handlers = handlers.iter();
    quote!(crate::web::routes::Operations::default()#(.with::<#described, _, _>(#handlers))*).into()
}
