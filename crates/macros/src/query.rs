//! Queries.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Field, Ident, ItemStruct, Result, Type, parse_quote};

use crate::field::{Reader, docs, generic, type_name};
use crate::options::{Options, text_of};

/// The description of a parameter that most lists have.
const UPDATED_SINCE: &str = "Only objects that changed at or after this time.";

pub(crate) fn expand(options: TokenStream, mut item: ItemStruct) -> Result<TokenStream> {
    let mut options = Options::parse(options)?;
    let source = format_ident!("params");
    let (mut names, mut reads) = (Vec::new(), Vec::new());
    for field in &mut item.fields {
        let (targets, read) = read_parameter(&source, field)?;
        names.extend(field.ident.clone());
        reads.extend(read.map(|read| quote!(let #targets = #read;)));
    }
    let items = options.value("items").map(|items| quote!(const ITEMS: &'static str = #items;));
    let order = options.value("order").map(|order| {
        quote!(const ORDER: crate::paging::Order = crate::paging::Order::#order;)
    });
    let check = options.value("check").map(|function| quote!(#function(&mut read, #source);));
    options.finish()?;
    let mutability = check.is_some().then(|| quote!(mut));
    let name = &item.ident;
    item.attrs.insert(0, parse_quote!(#[derive(Debug, utoipa::IntoParams)]));
    item.attrs.push(parse_quote!(#[into_params(parameter_in = Query)]));
    Ok(quote! {
        #item

        impl crate::web::query::FromQuery for #name {
            #items
            #order

            fn read(#source: &mut crate::web::query::Params) -> Self {
                #(#reads)*
                let #mutability read = Self { #(#names),* };
                #check
                read
            }
        }
    })
}

/// The variables that a parameter is read into, and how it is read. Adds its schema.
fn read_parameter(
    source: &Ident,
    field: &mut Field,
) -> Result<(TokenStream, Option<TokenStream>)> {
    let mut options = Options::take_from(&mut field.attrs, "param")?.unwrap_or_default();
    let ident = field.ident.clone();
    let target = quote!(#ident);
    if let Some(skip) = options.take("skip") {
        options.finish()?;
        field.attrs.push(parse_quote!(#[param(ignore)]));
        // The fields that take several values are set together with another one.
        let read = skip.arguments.is_none().then(|| quote!(Default::default()));
        return Ok((target, read));
    }
    describe(field);
    let renamed = options.text("name");
    let name = renamed
        .clone()
        .unwrap_or_else(|| ident.as_ref().map(ToString::to_string).unwrap_or_default());
    let mut schema: Vec<_> = renamed.map(|name| quote!(rename = #name)).into_iter().collect();
    schema.extend(options.take("schema").and_then(|entry| entry.arguments));
    let optional = generic(&field.ty, "Option");
    let is_optional = optional.is_some();
    let value = optional.unwrap_or_else(|| field.ty.clone());
    let list = generic(&value, "Vec");
    let (targets, read) = if let Some(several) = options.take("several") {
        let other = several.arguments;
        let values = values(source, &name, &value);
        (quote!((#ident, #other)), quote!(crate::web::query::one_or_several(#values)))
    } else if let Some(default) = options.take("or_all") {
        let default = default.arguments;
        schema.push(quote!(value_type = Option<String>));
        (target, quote!(#source.enum_or_all(#name, #default)))
    } else if let (Some(item), true) = (&list, options.0.is_empty()) {
        schema.push(quote!(value_type = Option<Vec<#item>>, style = Form, explode = false));
        (target, values(source, &name, item))
    } else {
        let reader = Reader::take(&mut options, &value)?;
        if list.is_some() {
            schema.push(quote!(value_type = Option<#value>, style = Form, explode = false));
        } else if !is_optional && reader.method != "required_id" {
            schema.push(quote!(value_type = Option<#value>));
        }
        let call = reader.call(source, &name);
        let is_default = !is_optional && reader.method == "flag";
        (target, if is_default { quote!(#call.unwrap_or_default()) } else { call })
    };
    options.finish()?;
    if !schema.is_empty() {
        field.attrs.push(parse_quote!(#[param(#(#schema),*)]));
    }
    Ok((targets, Some(read)))
}

/// Reads several values of a type.
fn values(source: &Ident, name: &str, item: &Type) -> TokenStream {
    if type_name(item).ends_with("Id") {
        quote!(#source.ids(#name, crate::web::query::MAX_IDS))
    } else {
        quote!(#source.enum_values(#name))
    }
}

/// Puts the doc comment on one line, because the description of a parameter has no line breaks.
fn describe(field: &mut Field) {
    let lines: Vec<_> = docs(&field.attrs)
        .iter()
        .filter_map(|doc| text_of(&doc.meta.require_name_value().ok()?.value))
        .collect();
    field.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
    let mut text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    if text.is_empty() && field.ident.as_ref().is_some_and(|name| name == "updated_since") {
        UPDATED_SINCE.clone_into(&mut text);
    }
    if !text.is_empty() {
        field.attrs.push(parse_quote!(#[doc = #text]));
    }
}
