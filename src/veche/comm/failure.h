#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "veche/base/module_api.h"

namespace veche {

// Why a rank of a job has failed, as ranks tell each other.
struct VECHE_MODULE_API Failure {
  // In order of precedence: the loss of a peer is only a consequence.
  enum class Kind : char { wrong_request = '1', failed = '2', lost_peer = '3' };
  Kind kind = Kind::failed;
  std::string sentence;

  static Failure of(const std::exception& error);
  // Throws RequestError or RunError.
  [[noreturn]] void raise() const;
  int exit_code() const { return kind == Kind::wrong_request ? 2 : 1; }
};

// What a rank contributes to an exchange: a text, its failure, or that it has ended.
VECHE_MODULE_API std::string as_text(const std::string& text);
VECHE_MODULE_API std::string as_failure(const Failure& failure);
VECHE_MODULE_API std::string as_end(const std::string& word = "");
VECHE_MODULE_API bool is_end(const std::string& brought);
VECHE_MODULE_API std::string text_of(const std::string& brought);

// The common failure of all ranks, from their contributions: the root cause, with its rank unless
// all ranks failed alike. Nothing when all contributed texts, or all have ended.
VECHE_MODULE_API std::optional<Failure> common_failure(std::span<const std::string> brought,
                                                       const std::function<std::string(int rank)>& name_of);

}  // namespace veche
