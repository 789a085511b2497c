//! The options of an attribute: `name`, `name(arguments)` and `name = value`, separated by commas.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitStr, Meta, Result, Token, parenthesized};

/// One option.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The doc comments before it.
    pub(crate) docs: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) arguments: Option<TokenStream>,
    pub(crate) value: Option<TokenStream>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let docs = Attribute::parse_outer(input)?;
        let name = Ident::parse_any(input)?;
        let mut entry = Self { docs, name, arguments: None, value: None };
        if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            entry.arguments = Some(content.parse()?);
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            entry.value = Some(parse_value(input)?);
        }
        Ok(entry)
    }
}

/// Parses up to the next comma that is not between angle brackets: an expression or a type.
fn parse_value(input: ParseStream<'_>) -> Result<TokenStream> {
    let (mut tokens, mut depth) = (Vec::new(), 0);
    while !input.is_empty() && (depth > 0 || !input.peek(Token![,])) {
        let token: TokenTree = input.parse()?;
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark) if mark.as_char() == '>' => depth -= 1,
            _ => {}
        }
        tokens.push(token);
    }
    Ok(tokens.into_iter().collect())
}

/// The options that were not used yet.
#[derive(Default)]
pub(crate) struct Options(pub(crate) Vec<Entry>);

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let entries = Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens)?;
        Ok(Self(entries.into_iter().collect()))
    }

    /// Removes the attributes with this name and returns their options, or `None` if there are none.
    pub(crate) fn take_from(attributes: &mut Vec<Attribute>, name: &str) -> Result<Option<Self>> {
        let (own, rest): (Vec<_>, Vec<_>) =
            attributes.drain(..).partition(|attribute| attribute.path().is_ident(name));
        *attributes = rest;
        let mut all = None;
        for attribute in own {
            let options: &mut Self = all.get_or_insert_default();
            if let Meta::List(list) = attribute.meta {
                options.0.extend(Self::parse(list.tokens)?.0);
            }
        }
        Ok(all)
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Entry> {
        let index = self.0.iter().position(|entry| entry.name == name)?;
        Some(self.0.remove(index))
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// The value of `name = value`.
    pub(crate) fn value(&mut self, name: &str) -> Option<TokenStream> {
        self.take(name)?.value
    }

    /// The text of `name = "text"`.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        syn::parse2::<LitStr>(self.value(name)?).ok().map(|text| text.value())
    }

    /// Fails if there are options that nobody took.
    pub(crate) fn finish(self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some(entry) => Err(syn::Error::new(entry.name.span(), "unknown option")),
        }
    }
}

impl ToTokens for Entry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.name.to_tokens(tokens);
        if let Some(arguments) = &self.arguments {
            quote::quote!((#arguments)).to_tokens(tokens);
        }
        if let Some(value) = &self.value {
            quote::quote!(= #value).to_tokens(tokens);
        }
    }
}
