//! Request bodies.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Field, Ident, ItemStruct, Result, Type, parse_quote};

use crate::field::{Reader, Shape, schema_options};
use crate::options::Options;

pub(crate) fn expand(options: TokenStream, mut item: ItemStruct) -> Result<TokenStream> {
    let mut options = Options::parse(options)?;
    let source = format_ident!("fields");
    let (mut names, mut reads) = (Vec::new(), Vec::new());
    for field in &mut item.fields {
        reads.push(read_field(&source, field)?);
        names.push(field.ident.clone());
    }
    item.attrs.insert(0, parse_quote!(#[derive(Debug, utoipa::ToSchema)]));
    if let Some(name) = options.value("as") {
        item.attrs.push(parse_quote!(#[schema(as = #name)]));
    }
    let require_any = options.take("require_any").and_then(|entry| entry.arguments);
    let require_any = require_any.map(|arguments| quote!(#source.require_any(#arguments);));
    let faults = options.take("faults").map(|entry| {
        let add = quote!(#source.add_faults(read.faults()););
        if entry.arguments.is_some() { quote!(if #source.has_faults() { #add }) } else { add }
    });
    let check = options.value("check").map(|function| quote!(#function(&read, #source);));
    let max_bytes = options.value("max_bytes").map(|max| quote!(const MAX_BYTES: usize = #max;));
    options.finish()?;
    let name = &item.ident;
    Ok(quote! {
        #item

        impl crate::web::fields::FromBody for #name {
            #max_bytes

            fn read(#source: &mut crate::web::fields::Fields) -> Self {
                #require_any
                #(let #names = #reads;)*
                let read = Self { #(#names),* };
                #faults
                #check
                read
            }
        }
    })
}

/// Reads one field, and adds its limits to its schema.
fn read_field(source: &Ident, field: &mut Field) -> Result<TokenStream> {
    let mut options = Options::take_from(&mut field.attrs, "input")?.unwrap_or_default();
    let shape = Shape::of(&field.ty);
    if options.flag("flatten") {
        options.finish()?;
        return Ok(quote!(crate::web::fields::FromBody::read(#source)));
    }
    let mut schema = schema_options(&field.attrs)?;
    let renamed = options.text("name");
    let name = renamed
        .clone()
        .unwrap_or_else(|| field.ident.as_ref().map(ToString::to_string).unwrap_or_default());
    let default = options.take("default");
    let is_non_null = options.flag("non_null");
    let placeholder = options.value("placeholder");
    let reader = Reader::take(&mut options, shape.value())?;
    options.finish()?;

    let (call, ty) = (reader.call(source, &name), shape.value());
    let is_required = matches!(shape, Shape::Plain(_)) && default.is_none();
    let mut limits = reader.limits(is_required || is_non_null);
    limits.extend(renamed.map(|name| quote!(rename = #name)));
    if !schema.flag("value_type") {
        match &shape {
            Shape::Change(_) => limits.push(quote!(value_type = Option<#ty>)),
            Shape::Option(_) if is_non_null => {
                limits.push(quote!(value_type = #ty, required = false));
            }
            _ => {}
        }
    }
    if default.is_some() {
        limits.push(quote!(required = false));
    }
    if !limits.is_empty() {
        field.attrs.push(parse_quote!(#[schema(#(#limits),*)]));
    }
    Ok(match shape {
        Shape::Change(_) => call,
        Shape::Option(_) if is_non_null => {
            quote!({ let read = #call; #source.non_null(#name, read) })
        }
        Shape::Option(_) => {
            let omitted = default.and_then(|default| default.value).unwrap_or_else(|| quote!(None));
            quote!(#call.apply(#omitted))
        }
        Shape::Plain(_) => match default {
            None => {
                let missing = placeholder
                    .map_or_else(|| implied_placeholder(&reader, ty), |value| quote!(#value));
                quote!({
                    let read = #call;
                    #source.required(#name, read).unwrap_or_else(|| #missing)
                })
            }
            Some(default) => {
                let value =
                    default.value.map_or_else(|| quote!(Default::default()), |v| quote!(#v));
                quote!(#call.apply(None).unwrap_or_else(|| #value))
            }
        },
    })
}

/// The value that is used in place of a missing required one.
fn implied_placeholder(reader: &Reader, ty: &Type) -> TokenStream {
    match reader.method.to_string().as_str() {
        "id" => quote!(::kit::Id::MIN),
        "enum_value" => quote!(<#ty as ::kit::string_enum::StringEnum>::ALL[0].0),
        _ => quote!(Default::default()),
    }
}
