#include "veche/graph/io/gml_text.h"

#include <charconv>
#include <map>
#include <sstream>

namespace veche {
namespace {

// HTML names of the characters 160 to 255, as used by GML.
constexpr const char* kLatin1 =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 "
    "acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde "
    "Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute "
    "Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde "
    "auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute "
    "ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

const std::map<std::string, std::uint32_t, std::less<>>& entity_names() {
  static const std::map<std::string, std::uint32_t, std::less<>> all = [] {
    std::map<std::string, std::uint32_t, std::less<>> table{
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    std::istringstream words(kLatin1);
    std::uint32_t sign = 160;
    for (std::string word; words >> word; ++sign) table.emplace(word, sign);
    return table;
  }();
  return all;
}

// The character of "amp", "#233" or "#xe9"; 0 if unknown.
std::uint32_t sign_of(std::string_view entity) {
  if (!entity.starts_with('#')) {
    const auto found = entity_names().find(entity);
    return found == entity_names().end() ? 0 : found->second;
  }
  const bool hexadecimal = entity.starts_with("#x") || entity.starts_with("#X");
  const std::string_view digits = entity.substr(hexadecimal ? 2 : 1);
  std::uint32_t sign = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), sign, hexadecimal ? 16 : 10);
  return error == std::errc{} && end == digits.data() + digits.size() ? sign : 0;
}

}  // namespace

void append_utf8(std::string& text, std::uint32_t sign) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto rest = [&](int shift) { add(0x80 | (sign >> shift & 0x3f)); };
  if (sign > 0x10ffff || (sign >= 0xd800 && sign < 0xe000)) return;
  if (sign < 0x80) return add(sign);
  if (sign < 0x800) {
    add(0xc0 | sign >> 6);
  } else if (sign < 0x10000) {
    add(0xe0 | sign >> 12);
    rest(6);
  } else {
    add(0xf0 | sign >> 18);
    rest(12);
    rest(6);
  }
  rest(0);
}

std::string decode_entities(std::string_view text) {
  constexpr std::size_t kLongest = 10;  // "#x10ffff" and some slack
  std::string decoded;
  while (!text.empty()) {
    const std::size_t end = text[0] == '&' ? text.substr(0, kLongest).find(';') : std::string_view::npos;
    const std::uint32_t sign = end == std::string_view::npos ? 0 : sign_of(text.substr(1, end - 1));
    if (sign == 0)
      decoded += text[0];
    else
      append_utf8(decoded, sign);
    text.remove_prefix(sign == 0 ? 1 : end + 1);
  }
  return decoded;
}

}  // namespace veche
