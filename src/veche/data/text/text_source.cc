#include "veche/data/text/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/files/content_hash.h"
#include "veche/base/files/mapped_file.h"

namespace veche {
namespace {

constexpr std::size_t kHashedText = 1 << 20;  // bytes at a time

std::uint64_t hash_of_text(const std::filesystem::path& path, std::uint64_t before) {
  const MappedFile file(path);
  const std::uint64_t size = file.bytes().size();
  before = content_hash(std::as_bytes(std::span(&size, 1)), before);
  for (std::size_t at = 0; at < file.bytes().size(); at += kHashedText)
    before = content_hash(file.bytes().subspan(at, std::min(kHashedText, file.bytes().size() - at)), before);
  return before;
}

}  // namespace

TextSource::TextSource(const TextRequest& request, std::size_t which)
    : utf8_(request.agreed ? request.agreed->kind() != TokenizerKind::bytes
                           : request.tokenizer.kind != TokenizerSpec::Kind::bytes),
      policy_(request.policy),
      test_share_(request.test.empty() ? request.test_share : 0) {
  for (const auto& path : find_texts(request.paths[which])) files_.push_back({.path = path});
  // A test text of its own is one for all sites.
  if (!request.test.empty() && which == 0)
    for (const auto& path : find_texts(request.test)) test_files_.push_back({.path = path});
  hash_ = content_hash(std::as_bytes(std::span(&test_share_, 1)));
  for (const auto* files : {&files_, &test_files_}) {
    const std::uint64_t count = files->size();
    hash_ = content_hash(std::as_bytes(std::span(&count, 1)), hash_);
    for (const File& file : *files) hash_ = hash_of_text(file.path, hash_);
  }
}

void TextSource::survey(CharacterSet* into) {
  left_out_ = 0;
  for (File& file : files_) survey(file, false, into);
  for (File& file : test_files_) survey(file, true, into);
}

void TextSource::survey(File& file, bool test, CharacterSet* into) {
  TextReader reader(file.path, utf8_, policy_);
  file.units = 0;
  for (std::string block; reader.next(block);) {
    file.units += utf8_ ? count_characters(block) : block.size();
    if (into != nullptr) into->add(block);
  }
  if (file.units == 0) policy_.found(fmt::format("'{}' is empty", file.path.string()));
  left_out_ += reader.damaged();
  file.train =
      test ? 0 : static_cast<std::uint64_t>(std::floor((1 - test_share_) * static_cast<double>(file.units)));
}

void TextSource::read(Part part, const Take& take) const {
  for (const auto* files : {&files_, &test_files_})
    for (const File& file : *files) {
      const std::uint64_t from = part == Part::train ? 0 : file.train;
      const std::uint64_t to = part == Part::train ? file.train : file.units;
      if (from == to) continue;
      // Damage was told of by the survey.
      TextReader reader(file.path, utf8_, {.on = OnDamage::skip});
      std::uint64_t at = 0;  // units before the block
      for (std::string block; at < to && reader.next(block);) {
        const std::uint64_t units = utf8_ ? count_characters(block) : block.size();
        const auto offset = [&](std::uint64_t unit) {
          if (unit <= at) return std::size_t{0};
          return utf8_ ? offset_of_character(block, unit - at)
                       : std::min<std::size_t>(block.size(), unit - at);
        };
        const std::size_t begin = offset(from), end = offset(to);
        if (begin < end) take(std::string_view(block).substr(begin, end - begin), reader, begin);
        at += units;
      }
    }
}

std::uint64_t TextSource::characters(Part part) const {
  std::uint64_t count = 0;
  for (const auto* files : {&files_, &test_files_})
    for (const File& file : *files) count += part == Part::train ? file.train : file.units - file.train;
  return count;
}

}  // namespace veche
