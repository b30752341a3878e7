#include "veche/data/text/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <utility>

#include "veche/base/files/content_hash.h"
#include "veche/base/files/mapped_file.h"
#include "veche/errors.h"

namespace veche {
namespace {

static_assert(std::endian::native == std::endian::little, "packed texts are little-endian and used in place");

constexpr std::uint64_t kTokensMagic = 0x4b4f'5445'4843'4556;  // the bytes "VECHETOK"
constexpr std::uint32_t kTokensVersion = 1;
constexpr std::size_t kHashedTokens = 1 << 20;  // bytes that are hashed at a time
constexpr std::size_t kMostShortIds = 1 << 16;

// The end of the file: all facts are known only when the tokens are written.
struct TokensFooter {
  std::uint64_t magic = kTokensMagic;
  std::uint32_t version = kTokensVersion;
  std::uint32_t width = 2;
  TokenFacts facts;
  std::uint64_t tokenizer = 0;  // bytes
  std::uint64_t checksum = 0;   // of all before the footer, and of the footer with 0 here
};
static_assert(sizeof(TokensFooter) == 80);

std::uint64_t hash_of_footer(TokensFooter footer, std::uint64_t before) {
  footer.checksum = 0;
  return content_hash(std::as_bytes(std::span(&footer, 1)), before);
}

class MappedTokens final : public TokenFile {
 public:
  explicit MappedTokens(std::unique_ptr<const MappedFile> file)
      : TokenFile(file->octets(), file->path().string()), file_(std::move(file)) {}

 private:
  bool still_has(std::span<const std::uint8_t> part) const override { return file_->still_has(part); }
  const std::unique_ptr<const MappedFile> file_;
};

class OwnedTokens final : public TokenFile {
 public:
  explicit OwnedTokens(std::unique_ptr<const std::vector<std::uint8_t>> bytes)
      : TokenFile(*bytes, "the packed text"), bytes_(std::move(bytes)) {}

 private:
  bool still_has(std::span<const std::uint8_t>) const override { return true; }
  const std::unique_ptr<const std::vector<std::uint8_t>> bytes_;
};

std::size_t width_of(const Tokenizer& tokenizer) {
  return static_cast<std::size_t>(tokenizer.size()) <= kMostShortIds ? 2 : 4;
}

}  // namespace

TokenFile::TokenFile(std::span<const std::uint8_t> bytes, const std::string& name) : name_(name) {
  const auto refuse = [&](const char* why) { throw RequestError(fmt::format("'{}' {}", name, why)); };
  TokensFooter footer;
  if (bytes.size() < sizeof footer) refuse("is no packed text");
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof footer, sizeof footer);
  if (footer.magic != kTokensMagic) refuse("is no packed text, or was cut off");
  if (footer.version != kTokensVersion) refuse("was packed by another version of Veche: pack the text again");
  const auto content = bytes.first(bytes.size() - sizeof footer);
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < content.size(); at += kHashedTokens)
    hash =
        content_hash(std::as_bytes(content.subspan(at, std::min(kHashedTokens, content.size() - at))), hash);
  if (hash_of_footer(footer, hash) != footer.checksum) refuse("has a bad checksum: it is damaged");
  facts_ = footer.facts;
  width_ = footer.width;
  const std::uint64_t tokens = facts_.train + facts_.test;
  if ((width_ != 2 && width_ != 4) || footer.tokenizer > content.size() || tokens < facts_.train ||
      tokens != (content.size() - footer.tokenizer) / width_)
    refuse("describes tokens that it does not hold");
  tokens_ = content.first(static_cast<std::size_t>(tokens) * width_);
  const auto packed = content.last(static_cast<std::size_t>(footer.tokenizer));
  tokenizer_ = unpack_tokenizer({packed.begin(), packed.end()});
}

std::shared_ptr<const TokenFile> TokenFile::open(const std::filesystem::path& path) {
  return std::make_shared<MappedTokens>(std::make_unique<const MappedFile>(path));
}

std::shared_ptr<const TokenFile> TokenFile::of_memory(std::vector<std::uint8_t> bytes) {
  return std::make_shared<OwnedTokens>(std::make_unique<const std::vector<std::uint8_t>>(std::move(bytes)));
}

bool TokenFile::is_one(const std::filesystem::path& path) {
  TokensFooter footer;
  footer.magic = 0;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() < static_cast<std::streamoff>(sizeof footer)) return false;
  in.seekg(-static_cast<std::streamoff>(sizeof footer), std::ios::end);
  in.read(reinterpret_cast<char*>(&footer), sizeof footer);
  return in && footer.magic == kTokensMagic;
}

void TokenFile::read(std::uint64_t first, std::span<std::int32_t> out) const {
  const auto part = tokens_.subspan(static_cast<std::size_t>(first) * width_, out.size() * width_);
  if (!still_has(part)) throw RunError(fmt::format("'{}' was cut off while in use", name_));
  const auto convert = [&]<class Id>(Id) {
    const auto* ids = reinterpret_cast<const Id*>(part.data());
    std::copy_n(ids, out.size(), out.begin());
  };
  if (width_ == 2)
    convert(std::uint16_t{});
  else
    convert(std::uint32_t{});
  // Ids are later used as indices without a check; the file may come from elsewhere.
  const std::int32_t end = tokenizer_->size();
  if (!std::ranges::all_of(out, [end](std::int32_t id) { return id >= 0 && id < end; }))
    throw RunError(
        fmt::format("'{}' has a token that is none of the {} symbols of its vocabulary", name_, end));
}

TokenWriter::TokenWriter(const Tokenizer& tokenizer, Sink sink)
    : tokenizer_(tokenizer), sink_(std::move(sink)), width_(width_of(tokenizer)) {}

void TokenWriter::add(std::span<const std::int32_t> ids) {
  count_ += ids.size();
  if (width_ == sizeof(std::int32_t)) return pass_on(std::as_bytes(ids));
  short_.assign(ids.begin(), ids.end());
  pass_on(std::as_bytes(std::span(std::as_const(short_))));
}

void TokenWriter::pass_on(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kHashedTokens - block_.size()));
    block_.insert(block_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (block_.size() == kHashedTokens) hash_and_write();
  }
}

void TokenWriter::hash_and_write() {
  hash_ = content_hash(block_, hash_);
  sink_(block_);
  block_.clear();
}

void TokenWriter::finish(const TokenFacts& facts) {
  const std::string packed = packed_tokenizer(tokenizer_);
  pass_on(std::as_bytes(std::span(packed)));
  if (!block_.empty()) hash_and_write();
  TokensFooter footer;
  footer.width = static_cast<std::uint32_t>(width_);
  footer.facts = facts;
  footer.tokenizer = packed.size();
  footer.checksum = hash_of_footer(footer, hash_);
  sink_(std::as_bytes(std::span(&footer, 1)));
}

}  // namespace veche
