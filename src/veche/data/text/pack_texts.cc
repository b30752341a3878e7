#include "veche/data/text/pack_texts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "veche/base/files/content_hash.h"
#include "veche/base/files/files.h"
#include "veche/base/files/read_text.h"
#include "veche/data/text/sentencepiece.h"
#include "veche/data/text/text_source.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using SpecKind = TokenizerSpec::Kind;

constexpr std::uintmax_t kMostModel = 64 << 20;  // bytes of a model of SentencePiece
constexpr std::uint64_t kLearntFrom = 64 << 20;  // characters that a vocabulary is learnt from, at most

std::uint64_t add_to_hash(std::uint64_t hash, const std::string& text) {
  return content_hash(std::as_bytes(std::span(text)), hash);
}

// The reason of the library's message, as one sentence.
std::string learning_failure(int vocabulary, const std::string& said) {
  int given = 0, number = 0;
  const std::string asked = fmt::format("data.tokenizer = \"sentencepiece:train:{}\"", vocabulary);
  const std::size_t most = said.find("<= "), least = said.find("required_chars. ");
  if (most != said.npos && std::sscanf(said.c_str() + most, "<= %d", &number) == 1)
    return fmt::format("{}: the text fills a vocabulary of at most {} symbols", asked, number);
  if (least != said.npos &&
      std::sscanf(said.c_str() + least, "required_chars. %d vs %d", &given, &number) == 2)
    return fmt::format("{}: the characters of the text alone need {} symbols", asked, number);
  return fmt::format("{}: the text is of no use to learn from ({})", asked, said);
}

// Pieces of all sources' training texts, evenly spread if there is much.
std::string learn_pieces(const TokenizerSpec& spec, const std::vector<TextSource>& sources) {
  std::uint64_t all = 0;
  for (const TextSource& source : sources) all += source.characters(TextSource::Part::train);
  const std::uint64_t every = all / kLearntFrom + 1;
  std::vector<std::string> pieces;
  std::uint64_t seen = 0;
  for (const TextSource& source : sources)
    source.read(TextSource::Part::train, [&](std::string_view text, const TextReader&, std::size_t) {
      if (seen++ % every == 0) pieces.emplace_back(text);
    });
  std::size_t given = 0;
  try {
    return train_sentencepiece(spec.vocabulary, [&](std::string& text) {
      if (given == pieces.size()) return false;
      text = std::move(pieces[given++]);
      return true;
    });
  } catch (const LearningFailed& error) {
    throw RequestError(learning_failure(spec.vocabulary, error.what()));
  }
}

std::shared_ptr<const Tokenizer> load_pieces(const std::string& file) {
  const std::string model = read_text(file, fmt::format("data.tokenizer: '{}'", file), kMostModel);
  try {
    return load_sentencepiece(model);
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("data.tokenizer: '{}' cannot be used: {}", file, error.what()));
  }
}

// Surveys the sources, and makes the vocabulary that all share.
std::shared_ptr<const Tokenizer> choose_tokenizer(const TextRequest& request,
                                                  std::vector<TextSource>& sources) {
  CharacterSet characters;
  const bool collect = !request.agreed && request.tokenizer.kind == SpecKind::characters;
  for (TextSource& source : sources) source.survey(collect ? &characters : nullptr);
  if (request.agreed) return request.agreed;
  switch (request.tokenizer.kind) {
    case SpecKind::characters:
      return make_tokenizer(TokenizerKind::characters, characters.symbols());
    case SpecKind::bytes:
      return make_tokenizer(TokenizerKind::bytes, "");
    case SpecKind::sentencepiece_file:
      return load_pieces(request.tokenizer.file);
    case SpecKind::sentencepiece_train:
      break;
  }
  return make_tokenizer(TokenizerKind::sentencepiece, learn_pieces(request.tokenizer, sources));
}

// Encodes a piece of text; symbols that the vocabulary lacks are damage.
class TextEncoder {
 public:
  TextEncoder(const Tokenizer& tokenizer, const DamagePolicy& policy)
      : tokenizer_(tokenizer), policy_(policy) {}

  const std::vector<std::int32_t>& encode(std::string_view text, const TextReader& from, std::size_t offset) {
    ids_.clear();
    for (std::size_t at = 0; at < text.size();) {
      const auto unknown = tokenizer_.encode(text.substr(at), ids_);
      if (!unknown) break;
      at += *unknown;
      const TextPlace place = from.place(offset + at);
      policy_.found(fmt::format(
          "'{}' has {} at byte {} (line {}), which is none of the {} symbols of the run's "
          "vocabulary",
          from.path().string(), show_character(text.substr(at)), place.byte, place.line, tokenizer_.size()));
      ++left_out_;
      at += offset_of_character(text.substr(at), 1);
    }
    return ids_;
  }
  std::uint64_t left_out() const { return left_out_; }

 private:
  const Tokenizer& tokenizer_;
  const DamagePolicy& policy_;
  std::vector<std::int32_t> ids_;
  std::uint64_t left_out_ = 0;
};

void pack_source(const TextSource& source, const Tokenizer& tokenizer, const DamagePolicy& policy,
                 std::uint64_t made_from, TokenWriter::Sink sink) {
  TokenWriter writer(tokenizer, std::move(sink));
  TextEncoder encoder(tokenizer, policy);
  TokenFacts facts;
  const auto add = [&](std::string_view text, const TextReader& from, std::size_t offset) {
    writer.add(encoder.encode(text, from, offset));
  };
  source.read(TextSource::Part::train, add);
  facts.train = writer.count();
  source.read(TextSource::Part::test, add);
  facts.test = writer.count() - facts.train;
  facts.train_characters = source.characters(TextSource::Part::train);
  facts.test_characters = source.characters(TextSource::Part::test);
  facts.left_out = source.left_out() + encoder.left_out();
  facts.made_from = made_from;
  writer.finish(facts);
}

void write_tokens(const fs::path& out, const std::function<void(TokenWriter::Sink)>& write) {
  const fs::path unfinished =
      out.parent_path() / fmt::format(".{}.{}.new", out.filename().string(), ::getpid());
  try {
    OutputFile file(unfinished, out);
    write([&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.sync();
    rename_durably(unfinished, out);
  } catch (...) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
}

std::shared_ptr<const TokenFile> tokens_in_memory(const std::function<void(TokenWriter::Sink)>& write) {
  std::vector<std::uint8_t> bytes;
  write([&](std::span<const std::byte> part) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(part.data());
    bytes.insert(bytes.end(), begin, begin + part.size());
  });
  return TokenFile::of_memory(std::move(bytes));
}

// Keeps the file if the folder allows it.
std::shared_ptr<const TokenFile> make_tokens(const fs::path& kept, const DamagePolicy& policy,
                                             const std::function<void(TokenWriter::Sink)>& write) {
  if (kept.empty()) return tokens_in_memory(write);
  try {
    fs::create_directories(kept.parent_path());
    write_tokens(kept, write);
  } catch (const RequestError&) {
    throw;
  } catch (const std::exception& error) {
    policy.log->add(fmt::format("the packed text stays in memory: {}", error.what()), 0);
    return tokens_in_memory(write);
  }
  return TokenFile::open(kept);
}

// The kept file, if it is whole and was made of this text.
std::shared_ptr<const TokenFile> find_tokens(const fs::path& kept, std::uint64_t made_from,
                                             const DamagePolicy& policy) {
  std::error_code error;
  if (kept.empty() || !fs::exists(kept, error)) return nullptr;
  try {
    auto file = TokenFile::open(kept);
    if (file->facts().made_from != made_from) return nullptr;
    if (const std::uint64_t count = file->facts().left_out; count > 0)
      policy.log->add(
          fmt::format("'{}' was packed without {} broken or unknown symbols", kept.string(), count), count);
    return file;
  } catch (const RequestError& damage) {
    policy.log->add(fmt::format("{}; the text is packed again", damage.what()), 0);
    return nullptr;
  }
}

std::shared_ptr<const TokenFile> open_packed_text(const fs::path& path, const TextRequest& request) {
  auto file = TokenFile::open(path);
  if (request.agreed && !equal(*request.agreed, *file->tokenizer()))
    throw RequestError(fmt::format(
        "'{}' was packed with another vocabulary than the run has: bring the text itself", path.string()));
  return file;
}

fs::path kept_path(const TextRequest& request, std::size_t which, std::uint64_t hash) {
  if (request.kept.empty()) return {};
  fs::path name = request.paths[which];
  if (name.filename().empty()) name = name.parent_path();
  return request.kept / fmt::format("{}-{:016x}.tokens", name.filename().string(), hash);
}

// What a packed text depends on besides the text and the vocabulary that others bring.
std::uint64_t hash_of_request(const TextRequest& request) {
  std::uint64_t hash = request.policy.on == OnDamage::skip ? 1 : 0;
  if (request.agreed) return add_to_hash(hash, packed_tokenizer(*request.agreed));
  const TokenizerSpec& spec = request.tokenizer;
  hash = add_to_hash(hash, fmt::format("{} {}", static_cast<int>(spec.kind), spec.vocabulary));
  return spec.kind == SpecKind::sentencepiece_file ? add_to_hash(hash, load_pieces(spec.file)->content())
                                                   : hash;
}

}  // namespace

std::vector<std::shared_ptr<const TokenFile>> pack_texts(const TextRequest& request) {
  if (request.paths.size() == 1 && TokenFile::is_one(request.paths.front()))
    return {open_packed_text(request.paths.front(), request)};
  std::vector<TextSource> sources;
  for (std::size_t i = 0; i < request.paths.size(); ++i) sources.emplace_back(request, i);
  std::uint64_t together = hash_of_request(request);
  for (const TextSource& source : sources) together = add_to_hash(together, std::to_string(source.hash()));

  std::vector<std::shared_ptr<const TokenFile>> files;
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    hashes.push_back(add_to_hash(together, std::to_string(sources[i].hash())));
    files.push_back(find_tokens(kept_path(request, i, hashes[i]), hashes[i], request.policy));
  }
  if (std::ranges::all_of(files, [](const auto& file) { return file != nullptr; })) return files;
  const std::shared_ptr<const Tokenizer> tokenizer = choose_tokenizer(request, sources);
  if (tokenizer->size() == 0) throw RequestError("data.path: the text is empty");
  for (std::size_t i = 0; i < sources.size(); ++i)
    files[i] = make_tokens(kept_path(request, i, hashes[i]), request.policy, [&](TokenWriter::Sink sink) {
      pack_source(sources[i], *tokenizer, request.policy, hashes[i], std::move(sink));
    });
  return files;
}

void pack_text(const TextRequest& request, const fs::path& out) {
  std::vector<TextSource> sources;
  sources.emplace_back(request, 0);
  const std::shared_ptr<const Tokenizer> tokenizer = choose_tokenizer(request, sources);
  write_tokens(out, [&](TokenWriter::Sink sink) {
    pack_source(sources.front(), *tokenizer, request.policy, sources.front().hash(), std::move(sink));
  });
}

}  // namespace veche
