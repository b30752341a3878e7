#include "veche/base/text/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

namespace veche {
namespace {

double number(const std::string& text) {
  return text == "nan"   ? std::numeric_limits<double>::quiet_NaN()
         : text == "inf" ? std::numeric_limits<double>::infinity()
                         : std::stod(text);
}

// Two arguments of "86.2 ± 1.5 %".
double after_blank(const std::string& text) { return number(text.substr(text.find(' ') + 1)); }

TEST(Figures, AreThoseOfTheTable) {
  const std::map<std::string, std::function<std::string(const std::string&)>> functions{
      {"count", [](const std::string& text) { return figures::count(number(text)); }},
      {"three", [](const std::string& text) { return figures::three(number(text)); }},
      {"percent", [](const std::string& text) { return figures::percent(number(text)); }},
      {"fine_percent", [](const std::string& text) { return figures::fine_percent(number(text)); }},
      {"bytes", [](const std::string& text) { return figures::bytes(number(text)); }},
      {"duration", [](const std::string& text) { return figures::duration(number(text)); }},
      {"signed", [](const std::string& text) {
         return figures::percent(number(text.substr(0, text.find(' '))), after_blank(text));
       }}};
  std::ifstream file(VECHE_FIGURES_CASES);
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t first = line.find('|'), second = line.find('|', first + 1);
    std::string made = functions.at(line.substr(0, first))(line.substr(first + 1, second - first - 1));
    for (std::size_t at = 0; (at = made.find("\u00a0")) != std::string::npos;) made.replace(at, 2, " ");
    EXPECT_EQ(made, line.substr(second + 1)) << line;
    ++cases;
  }
  EXPECT_GT(cases, 40);
}

TEST(Figures, DeviationsHaveTheDecimalsOfTheirMean) {
  EXPECT_EQ(figures::three(5.1268, 0.0231), "5.13 ± 0.02");
  EXPECT_EQ(figures::three(61'587, 12.3), "61,600 ± 12");
}

TEST(Figures, ATerminalIsGivenPlainSigns) {
  EXPECT_EQ(figures::plain(figures::percent(0.862, 0.015)), "86.2 +- 1.5 %");
  EXPECT_EQ(figures::plain(figures::bytes(std::nan(""))), "-");
}

}  // namespace
}  // namespace veche
