#pragma once

#include <array>
#include <string_view>

#include "veche/settings.h"

namespace veche {

// The words of a key whose member is an enum, in the order of its values.
template <class Enum>
constexpr auto kWordsOf = std::array<std::string_view, 0>{};

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<Transport>{"auto", "threads", "mpi", "simulated"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ModelStart>{"equal", "different"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<UnevenData>{"wait", "repeat"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<MemberData>{"own", "common"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Learning>{"real", "none"};

}  // namespace veche
