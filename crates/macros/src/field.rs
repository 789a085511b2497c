//! What a field is: its type, and the method that reads it with its limits.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, GenericArgument, Ident, Lit, PathArguments, Result, Token, Type,
};

use crate::options::Options;

/// The type of a field.
pub(crate) enum Shape {
    Plain(Type),
    Option(Type),
    Change(Type),
}

impl Shape {
    pub(crate) fn of(ty: &Type) -> Self {
        match (generic(ty, "Option"), generic(ty, "Change")) {
            (Some(inner), _) => Self::Option(inner),
            (_, Some(inner)) => Self::Change(inner),
            _ => Self::Plain(ungrouped(ty).clone()),
        }
    }

    pub(crate) fn value(&self) -> &Type {
        let (Self::Plain(ty) | Self::Option(ty) | Self::Change(ty)) = self;
        ty
    }
}

/// The type without the invisible group that `macro_rules!` puts around it.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        other => other,
    }
}

/// The `T` of `Name<T>`.
pub(crate) fn generic(ty: &Type, name: &str) -> Option<Type> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner.clone()),
        _ => None,
    }
}

/// The name of a type, without its path.
pub(crate) fn type_name(ty: &Type) -> String {
    match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
    .unwrap_or_default()
}

/// The method that reads a field, with its arguments.
pub(crate) struct Reader {
    pub(crate) method: Ident,
    pub(crate) arguments: Vec<Expr>,
}

impl Reader {
    /// The method among the options, or the one that the type implies.
    pub(crate) fn take(options: &mut Options, ty: &Type) -> Result<Self> {
        if options.0.is_empty() {
            return Self::implied(ty);
        }
        let entry = options.0.remove(0);
        let parse = Punctuated::<Expr, Token![,]>::parse_terminated;
        let arguments = parse.parse2(entry.arguments.unwrap_or_default())?;
        Ok(Self { method: entry.name, arguments: arguments.into_iter().collect() })
    }

    fn implied(ty: &Type) -> Result<Self> {
        let method = match type_name(ty).as_str() {
            "bool" => "flag",
            "Zone" => "zone",
            "Currency" => "currency",
            "Metadata" => "metadata",
            "Day" => "day",
            "Timestamp" => "timestamp",
            name if name.ends_with("Id") => "id",
            "String" | "i64" | "f64" | "Vec" => {
                let message = "declare how this is read, such as `line(120)` or `number(1, 100)`";
                return Err(Error::new_spanned(ty, message));
            }
            _ => "enum_value",
        };
        Ok(Self { method: format_ident!("{method}"), arguments: Vec::new() })
    }

    /// Reads the field from `source`.
    pub(crate) fn call(&self, source: &Ident, name: &str) -> TokenStream {
        let Self { method, arguments } = self;
        if method == "with" {
            return quote!(#(#arguments)*(#source, #name));
        }
        // Nested objects are read as inputs of their own.
        let nested = match (method.to_string().as_str(), arguments.len()) {
            ("object", 0) | ("objects", 1) => Some(quote!(, crate::web::fields::FromBody::read)),
            _ => None,
        };
        quote!(#source.#method(#name #(, #arguments)* #nested))
    }

    /// The limits in a schema, as far as they are literals. Text that must be there is not empty.
    pub(crate) fn limits(&self, is_required: bool) -> Vec<TokenStream> {
        let method = self.method.to_string();
        let names: &[&str] = match method.as_str() {
            "line" | "block" | "url" => &["max_length"],
            "number" | "real" => &["minimum", "maximum"],
            "lines" | "ids" | "numbers" | "objects" => &["max_items"],
            _ => &[],
        };
        let mut limits = Vec::new();
        if is_required && matches!(method.as_str(), "line" | "block") {
            limits.push(quote!(min_length = 1));
        }
        for (name, limit) in names.iter().zip(&self.arguments) {
            let name = format_ident!("{name}");
            limits.extend(literal(limit).map(|limit| quote!(#name = #limit)));
        }
        match method.as_str() {
            "color" => limits.push(quote!(pattern = "^#[0-9a-fA-F]{6}$")),
            "email" => limits.push(quote!(format = Email, max_length = 254)),
            _ => {}
        }
        limits
    }
}

/// A number as utoipa reads it: whole numbers without a fraction, large ones with their type.
fn literal(value: &Expr) -> Option<TokenStream> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => {
                let value: i64 = number.base10_parse().ok()?;
                let is_small = i32::try_from(value).is_ok();
                let number = if is_small {
                    proc_macro2::Literal::i64_unsuffixed(value)
                } else {
                    proc_macro2::Literal::i64_suffixed(value)
                };
                Some(number.into_token_stream())
            }
            Lit::Float(number) => {
                let whole: i64 = number.base10_digits().strip_suffix(".0")?.parse().ok()?;
                Some(proc_macro2::Literal::i64_unsuffixed(whole).into_token_stream())
            }
            _ => None,
        },
        Expr::Unary(negative) if matches!(negative.op, syn::UnOp::Neg(_)) => {
            literal(&negative.expr).map(|number| quote!(-#number))
        }
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// The contents of the `#[schema(…)]` attributes.
pub(crate) fn schema_options(attributes: &[Attribute]) -> Result<Options> {
    let mut attributes = attributes.to_vec();
    Ok(Options::take_from(&mut attributes, "schema")?.unwrap_or_default())
}

/// The doc comments among the attributes.
pub(crate) fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}
