#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "veche/settings.h"

namespace veche {

// The words of a key whose member is an enum, in the order of its values.
template <class Enum>
constexpr auto kWordsOf = std::array<std::string_view, 0>{};

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<Transport>{"auto", "threads", "mpi", "simulated"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<AsyncWork>{"shared", "equal"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<ModelStem>{"auto", "small", "large"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ComputeDevice>{"cpu", "cuda"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<OnDamage>{"refuse", "skip"};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<RateShape>{"constant", "multi-step", "cosine",
                                                                     "one-cycle"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Lossless>{"none", "zstd"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<PipelineSchedule>{"1f1b", "gpipe", "naive"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<PipelineCut::By>{"time", "parameters", "layers"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<NetworkShape>{"star", "full"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<TcpModel>{"LV08", "CM02"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Admission>{"invited", "approved"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<CutOff>{"wait", "fork"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<MemberWeight>{"samples", "equal"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ModelStart>{"equal", "different"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<UnevenData>{"wait", "repeat"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<MemberData>{"own", "common"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Learning>{"real", "none"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Task>{"classification", "language", "regression"};

template <class Enum>
std::vector<std::string> words_of() {
  return {kWordsOf<Enum>.begin(), kWordsOf<Enum>.end()};
}
// `word` is one of the words, as the key's check has made sure.
template <class Enum>
Enum of_word(std::string_view word) {
  return static_cast<Enum>(std::ranges::find(kWordsOf<Enum>, word) - kWordsOf<Enum>.begin());
}
template <class Enum>
std::string word_of(Enum value) {
  return std::string(kWordsOf<Enum>.at(static_cast<std::size_t>(value)));
}

}  // namespace veche
