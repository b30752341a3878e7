#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "veche/data/text/characters.h"
#include "veche/data/text/pack_texts.h"
#include "veche/data/text/text_reader.h"

namespace veche {

// The files of one site's text, divided into a training and a test text: the end of each file is
// for the test, or a text of its own. Read as often as needed.
class TextSource {
 public:
  TextSource(const TextRequest& request, std::size_t which);

  // Of the files as they lie there, still compressed, and of how they are divided.
  std::uint64_t hash() const { return hash_; }

  // Counts and checks all text; called before `read`. Adds the characters to `into` unless null.
  // Throws RequestError where a file is empty or, unless bytes are read as bytes, broken UTF-8.
  void survey(CharacterSet* into);
  std::uint64_t left_out() const { return left_out_; }

  enum class Part { train, test };
  // Gives the text of a part in pieces that end between characters, with where the piece comes
  // from.
  using Take = std::function<void(std::string_view text, const TextReader& from, std::size_t offset)>;
  void read(Part part, const Take& take) const;
  std::uint64_t characters(Part part) const;

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t units = 0;  // characters, or bytes
    std::uint64_t train = 0;  // of them
  };
  void survey(File& file, bool test, CharacterSet* into);

  const bool utf8_;
  const DamagePolicy policy_;
  const double test_share_;
  std::vector<File> files_, test_files_;
  std::uint64_t hash_ = 0, left_out_ = 0;
};

}  // namespace veche
