#include "cli/bench/bench_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>

#include "veche/base/machine/cores.h"
#include "veche/base/machine/instruction_set.h"
#include "veche/base/machine/machine.h"
#include "veche/errors.h"

namespace veche::cli {
nlohmann::ordered_json to_json(const BenchCase& c) {
  nlohmann::ordered_json json{{"name", c.name},     {"value", c.value},           {"unit", c.unit},
                              {"peer", c.peer},     {"peer_value", c.peer_value}, {"ratio", c.ratio},
                              {"spread", c.spread}, {"rounds", c.rounds}};
  if (c.required > 0) {
    json["required"] = c.required;
    json["verdict"] = verdict(c);
  }
  if (!c.note.empty()) json["note"] = c.note;
  return json;
}

BenchRecord::BenchRecord(const std::filesystem::path& file) {
  try {
    file_.emplace(file);
  } catch (const RunError& error) {
    throw RequestError(std::string("--record: ") + error.what());
  }
}

void BenchRecord::add(const std::string& bench, const BenchCase& result) {
  nlohmann::ordered_json row{{"bench", bench}};
  row.update(to_json(result));
  cases_.push_back(std::move(row));
}

void BenchRecord::write(bool quick) {
  nlohmann::ordered_json line{{"date", fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))},
                              {"veche", VECHE_VERSION},
                              {"processor", processor_name()},
                              {"cores", usable_cores()},
                              {"instruction_set", instruction_set()}};
  if (quick) line["quick"] = true;
  line["cases"] = std::move(cases_);
  file_->append(line.dump() + "\n");
  if (!file_->sync()) throw RunError(file_->why());
}

}  // namespace veche::cli
