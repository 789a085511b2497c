//! Queries.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Expr, ExprLit, Field, Ident, ItemStruct, Lit, Result, Type, parse_quote};

use crate::field::{Reader, docs, generic, type_name};
use crate::options::Options;

/// The description of a parameter that most lists have.
const UPDATED_SINCE: &str = "Only objects that changed at or after this time.";

pub(crate) fn expand(options: TokenStream, mut item: ItemStruct) -> Result<TokenStream> {
    let mut options = Options::parse(options)?;
    let source = format_ident!("params");
    let (mut names, mut reads, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for field in &mut item.fields {
        names.extend(field.ident.clone());
        match read_parameter(&source, field)? {
            Some(parameter) => {
                reads.push(parameter.read);
                others.extend(parameter.other);
            }
            None => reads.push(quote!(Default::default())),
        }
    }
    // A field that another one sets has no read of its own.
    let lets = names.iter().zip(&reads).filter(|(name, _)| !others.contains(name));
    let lets: Vec<_> = lets.map(|(name, read)| quote!(let #name = #read;)).collect();
    let items = options.value("items").map(|items| quote!(const ITEMS: &'static str = #items;));
    let order = options
        .value("order")
        .map(|order| quote!(const ORDER: crate::paging::Order = crate::paging::Order::#order;));
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
                #(let #others;)*
                #(#lets)*
                let #mutability read = Self { #(#names),* };
                #check
                read
            }
        }
    })
}

/// How a parameter is read.
struct Parameter {
    read: TokenStream,
    /// Another field that it sets.
    other: Option<Ident>,
}

/// How a parameter is read, or `None` if the field is not a parameter. Adds its schema.
fn read_parameter(source: &Ident, field: &mut Field) -> Result<Option<Parameter>> {
    let mut options = Options::take_from(&mut field.attrs, "param")?.unwrap_or_default();
    if options.flag("skip") {
        options.finish()?;
        field.attrs.push(parse_quote!(#[param(ignore)]));
        return Ok(None);
    }
    describe(field);
    let renamed = options.text("name");
    let name = renamed
        .clone()
        .unwrap_or_else(|| field.ident.as_ref().map(ToString::to_string).unwrap_or_default());
    let own_schema = options.take("schema").and_then(|entry| entry.arguments);
    let optional = generic(&field.ty, "Option");
    let is_optional = optional.is_some();
    let value = optional.unwrap_or_else(|| field.ty.clone());
    let list = generic(&value, "Vec");
    let (mut other, mut schema) = (None, None);
    let read = if let Some(several) = options.take("several") {
        let arguments = several.arguments.unwrap_or_default();
        let field: Ident = syn::parse2(arguments)?;
        let values = values(source, &name, &value);
        schema = Some(quote!(value_type = Option<Vec<#value>>, style = Form, explode = false));
        let read = quote!({
            let (one, several) = crate::web::query::one_or_several(#values);
            #field = several;
            one
        });
        other = Some(field);
        read
    } else if let Some(default) = options.take("or_all") {
        let default = default.arguments;
        schema = Some(quote!(value_type = Option<crate::web::query::OrAll<#value>>, inline));
        quote!(#source.enum_or_all(#name, #default))
    } else if let (Some(item), true) = (&list, options.0.is_empty()) {
        schema = Some(quote!(value_type = Option<#value>, style = Form, explode = false));
        values(source, &name, item)
    } else {
        let reader = Reader::take(&mut options, &value)?;
        if list.is_some() {
            schema = Some(quote!(value_type = Option<#value>, style = Form, explode = false));
        } else if !is_optional && reader.method != "required_id" {
            schema = Some(quote!(value_type = Option<#value>));
        }
        let call = reader.call(source, &name);
        let is_default = !is_optional && reader.method == "flag";
        if is_default { quote!(#call.unwrap_or_default()) } else { call }
    };
    options.finish()?;
    let renamed = renamed.map(|name| quote!(rename = #name));
    let schema: Vec<_> = renamed.into_iter().chain(own_schema.or(schema)).collect();
    if !schema.is_empty() {
        field.attrs.push(parse_quote!(#[param(#(#schema),*)]));
    }
    Ok(Some(Parameter { read, other }))
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
        .filter_map(|doc| match &doc.meta.require_name_value().ok()?.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        })
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
