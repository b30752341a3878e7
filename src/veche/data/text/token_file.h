#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/data/text/tokenizer.h"

namespace veche {

// What a packed text is, besides its tokens.
struct TokenFacts {
  std::uint64_t train = 0, test = 0;  // tokens
  std::uint64_t train_characters = 0, test_characters = 0;
  std::uint64_t left_out = 0;   // bytes and symbols that data.bad = "skip" left out
  std::uint64_t made_from = 0;  // hash of the text's files and of how they were packed
};

// A text as token ids, with its tokenizer: a mapped file, or memory. Immutable; any thread reads.
class TokenFile {
 public:
  // Throws RequestError naming the file: it is missing, damaged or no packed text. All of it is
  // read, to compare its checksum.
  static std::shared_ptr<const TokenFile> open(const std::filesystem::path& path);
  // The same from the bytes of a file.
  static std::shared_ptr<const TokenFile> of_memory(std::vector<std::uint8_t> bytes);
  // Whether the end of the file says that it is one.
  static bool is_one(const std::filesystem::path& path);

  virtual ~TokenFile() = default;
  const TokenFacts& facts() const { return facts_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  // Tokens from `first` on; those of the test text follow those of the training text. Throws
  // RunError where the file was cut off while in use, or has a token that is none.
  void read(std::uint64_t first, std::span<std::int32_t> out) const;

 protected:
  explicit TokenFile(std::span<const std::uint8_t> bytes, const std::string& name);
  virtual bool still_has(std::span<const std::uint8_t> part) const = 0;

 private:
  const std::string name_;
  std::span<const std::uint8_t> tokens_;
  std::size_t width_ = 2;  // bytes of an id
  TokenFacts facts_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// Makes the bytes of such a file, piece by piece. `sink` gets them in their order.
class TokenWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;
  TokenWriter(const Tokenizer& tokenizer, Sink sink);

  void add(std::span<const std::int32_t> ids);
  std::uint64_t count() const { return count_; }
  void finish(const TokenFacts& facts);

 private:
  void pass_on(std::span<const std::byte> bytes);
  void hash_and_write();

  const Tokenizer& tokenizer_;
  const Sink sink_;
  const std::size_t width_;
  std::vector<std::byte> block_;  // not written yet
  std::vector<std::uint16_t> short_;
  std::uint64_t count_ = 0, hash_ = 0;
};

}  // namespace veche
