#pragma once

#include <string>
#include <vector>

#include "web/report/findings.h"
#include "web/report/words.h"

namespace veche::web {

struct KeyFigure {
  Words name;
  std::string value;
  Words beside;  // the same of the other; HTML, may be empty
};

// What a report says first. Title and lead are HTML.
struct Answer {
  Words title, lead;
  std::string winner, other;       // of whom the key figures are; empty if there is nothing to compare
  std::vector<KeyFigure> figures;  // at most four
};

Answer answer_of(const Findings& findings);

}  // namespace veche::web
