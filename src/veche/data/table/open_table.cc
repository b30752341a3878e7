#include "veche/data/table/open_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/machine/cores.h"
#include "veche/base/text/nearest.h"
#include "veche/data/sets/class_weights.h"
#include "veche/data/table/table_set.h"
#include "veche/data/table/test_part.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kUsualShare = 0.1;

const TableSet* table_of(const DataSource& source) {
  return dynamic_cast<const TableSet*>(source.train.get());
}

void check_target(const DataSettings& settings, const std::filesystem::path& path) {
  if (settings.target) return;
  const CsvFile file(path);
  throw RequestError(fmt::format("data.target must name the column to predict in '{}'{}", path.string(),
                                 suggestion("", file.columns())));
}

TestRows test_rows(const std::optional<TestPart>& part, std::uint64_t seed) {
  if (!part) return {.condition = {}, .share = kUsualShare, .seed = seed};
  return {.condition = part->expression, .share = part->share.value_or(0), .seed = seed};
}

// Both parts must have rows.
void check_parts(std::size_t train, std::size_t test, const std::optional<TestPart>& part,
                 const std::filesystem::path& path) {
  if (train > 0 && test > 0) return;
  throw RequestError(fmt::format("'{}' has no {} row{}", path.string(), train == 0 ? "training" : "test",
                                 part && !part->expression.empty()
                                     ? fmt::format(": data.test = \"{}\" holds for {}", part->expression,
                                                   train == 0 ? "every row" : "none")
                                     : std::string()));
}

// The rows of both parts; their tables differ where data.test is a file.
struct TableParts {
  std::shared_ptr<const Table> train, test;
};

std::shared_ptr<const TableSet> set_of(const std::shared_ptr<const Table>& table,
                                       const std::vector<std::uint32_t>& rows, const DataSource& source,
                                       const DamagePolicy& policy, std::size_t most_kept) {
  return std::make_shared<TableSet>(table, rows, source.scheme, policy, most_kept);
}

void put_sets(DataSource& source, const TableParts& parts, const DamagePolicy& policy,
              std::size_t most_kept = TableSet::kMostKept) {
  const bool one_file = parts.train == parts.test;
  source.train = set_of(parts.train, parts.train->train_rows(), source, policy, most_kept);
  source.test = set_of(parts.test, one_file ? parts.test->test_rows() : parts.test->train_rows(), source,
                       policy, most_kept);
  source.class_names = source.scheme->target.classes;
}

// The scheme is final.
void check_scheme(DataSource& source, const DataSettings& settings) {
  const TableScheme::Target& target = source.scheme->target;
  if (target.task == Task::classification && target.classes.size() < 2)
    throw RequestError(fmt::format("data.target = \"{}\": all training rows have the same class, '{}'",
                                   target.name, target.classes.empty() ? "" : target.classes.front()));
  source.class_weights = class_weights(settings, target.counts);
}

}  // namespace

bool is_table_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  return name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".CSV") || name.ends_with(".TSV");
}

DataSource open_table(const OpenRequest& request, const DataSettings& settings, std::uint64_t seed,
                      const OpenOptions& how) {
  check_target(settings, request.path);
  const std::optional<TestPart> part = read_test_part(settings);
  const int threads = usable_cores(how.processes);
  const bool has_file = part && !part->file.empty();
  DataSource source{.name = request.path.filename().string(),
                    .kind = "a table",
                    .place = request.path.string(),
                    .train = nullptr,
                    .test = nullptr,
                    .scheme = how.scheme,
                    .damage = {request.policy.log}};
  TableParts parts;
  parts.train =
      std::make_shared<const Table>(request.path, settings, how.scheme.get(),
                                    has_file ? TestRows{} : test_rows(part, seed), request.policy, threads);
  if (!has_file)
    check_parts(parts.train->train_rows().size(), parts.train->test_rows().size(), part, request.path);
  if (source.scheme == nullptr)
    source.scheme =
        std::make_shared<const TableScheme>(agree({parts.train->sums()}, {request.path.string()}));
  parts.test = has_file ? std::make_shared<const Table>(part->file, settings, source.scheme.get(), TestRows{},
                                                        request.policy, threads)
                        : parts.train;
  // Nothing is encoded by a scheme that another replaces.
  if (how.scheme_follows)
    put_sets(source, parts, {.on = OnDamage::skip, .log = std::make_shared<DamageLog>()}, 0);
  else
    put_sets(source, parts, request.policy);
  check_parts(source.train->size(), source.test->size(), {}, request.path);
  if (!how.scheme_follows) check_scheme(source, settings);
  return source;
}

std::optional<TableSums> sums_of(const DataSource& source) {
  const TableSet* const set = table_of(source);
  return set == nullptr ? std::nullopt : std::optional(set->table()->sums());
}

void set_scheme(DataSource& source, std::shared_ptr<const TableScheme> scheme, const DataSettings& settings) {
  const TableParts parts{table_of(source)->table(), dynamic_cast<const TableSet&>(*source.test).table()};
  const DamagePolicy policy{.on = settings.bad};
  source.scheme = std::move(scheme);
  put_sets(source, parts, policy);
  source.damage.resize(1);  // that of the files
  source.damage.push_back(policy.log);
  check_scheme(source, settings);
}

}  // namespace veche
