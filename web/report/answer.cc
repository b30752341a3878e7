#include "web/report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/figures.h"
#include "web/report/report.h"

namespace veche::web {
namespace {

using Cost = std::optional<Spread> Finding::*;

std::string strong(const std::string& text) { return "<b>" + number_markup(text) + "</b>"; }
std::string marked(const std::string& text) { return "<em>" + number_markup(text) + "</em>"; }
std::string bytes_text(const std::optional<Spread>& bytes) {
  return figures::bytes(bytes ? bytes->mean : std::nan(""));
}
std::string time_text(const std::optional<Spread>& seconds) {
  return figures::duration(seconds ? seconds->mean : std::nan(""));
}

// A sentence in both languages, with the same values.
template <class... Values>
Words told(std::string_view english, std::string_view russian, const Values&... values) {
  return {fmt::format(fmt::runtime(english), values...), fmt::format(fmt::runtime(russian), values...)};
}

void append(Words& words, const Words& sentence) {
  words.english += (words.english.empty() ? "" : " ") + sentence.english;
  words.russian += (words.russian.empty() ? "" : " ") + sentence.russian;
}

// The first of all that have the cost and are not `besides`.
const Finding* least(const Findings& findings, Cost cost, const Finding* besides = nullptr) {
  const Finding* found = nullptr;
  for (const Finding& one : findings.all)
    if (&one != besides && one.*cost && (found == nullptr || (one.*cost)->mean < (found->*cost)->mean))
      found = &one;
  return found;
}

const Finding* best(const Findings& findings) {
  const Finding* found = nullptr;
  for (const Finding& one : findings.all) {
    if (!one.result) continue;
    const bool better =
        found == nullptr || (one.result->mean != found->result->mean &&
                             reaches(findings.measure(), one.result->mean, found->result->mean));
    if (better) found = &one;
  }
  return found;
}

std::string names(const std::vector<const Finding*>& some) {
  std::string text;
  for (const Finding* one : some) text += (text.empty() ? "" : ", ") + html(one->name());
  return text;
}

// "6.3 % more time", "2.40 times the time".
Words longer(double ratio) {
  if (ratio >= 2) {
    const std::string times = number_markup(figures::three(ratio));
    return {times + " times the time", "в " + times + " раза больше времени"};
  }
  const std::string more = number_markup(figures::fine_percent(ratio - 1));
  return {more + " more time", "на " + more + " больше времени"};
}

std::string bytes_to_goal(const Finding& one) { return bytes_text(one.bytes_to_goal); }
std::string time_to_goal(const Finding& one) { return time_text(one.seconds_to_goal); }
std::string name_of(const Finding& one) { return html(one.name()); }

// The cheapest way to the goal is the fastest as well.
void tell_first_by_both(const Findings& findings, const Finding& first, const Finding& next, Answer& answer) {
  answer.title = told("{} reaches {} first, by bytes ({}) and by time ({}).",
                      "{} достигает {} раньше всех и по байтам ({}), и по времени ({}).", name_of(first),
                      number_markup(goal_text(findings.measure(), *findings.goal)),
                      marked(bytes_to_goal(first)), marked(time_to_goal(first)));
  const Finding* const later = least(findings, &Finding::seconds_to_goal, &first);
  if (later == &next) {
    append(answer.lead, told("Next is {}, by bytes ({}) and by time ({}).",
                             "Следующий — {}, и по байтам ({}), и по времени ({}).", name_of(next),
                             strong(bytes_to_goal(next)), strong(time_to_goal(next))));
    return;
  }
  append(answer.lead, told("Next by bytes is {} ({}).", "Следующий по байтам — {} ({}).", name_of(next),
                           strong(bytes_to_goal(next))));
  if (later != nullptr)
    append(answer.lead, told("Next by time is {} ({}).", "Следующий по времени — {} ({}).", name_of(*later),
                             strong(time_to_goal(*later))));
}

// One is the cheapest, another one the fastest.
void tell_price(const Findings& findings, const Finding& cheap, const Finding& fast, Answer& answer) {
  const double other = fast.bytes_to_goal->mean;
  const double part = other > 0 ? cheap.bytes_to_goal->mean / other : 1;
  const Words more = longer(cheap.seconds_to_goal->mean / fast.seconds_to_goal->mean);
  const auto title = [&](const char* words, const std::string& time) {
    return fmt::format(
        fmt::runtime(words), name_of(cheap), number_markup(goal_text(findings.measure(), *findings.goal)),
        number_markup(bytes_to_goal(cheap)), number_markup(figures::fine_percent(part)), name_of(fast), time);
  };
  answer.title = {title("{} reaches {} with <em>{}, {} of the bytes of {}</em>, and needs {}.", more.english),
                  title("{} достигает {}, отправив <em>{}, {} от байт {}</em>, но тратит {}.", more.russian)};
  append(answer.lead,
         told("{} is the fastest ({}).", "{} быстрее всех ({}).", name_of(fast), strong(time_to_goal(fast))));
}

// Several configurations of which at least one has reached the goal.
void compare_costs(const Findings& findings, Answer& answer) {
  const Measure& measure = findings.measure();
  const Finding& cheap = *least(findings, &Finding::bytes_to_goal);
  const Finding* const fast = least(findings, &Finding::seconds_to_goal);
  const Finding* const next = least(findings, &Finding::bytes_to_goal, &cheap);
  if (next == nullptr)
    answer.title = told("Only {} reaches {}: with {} and in {}.", "Только {} достигает {}: {} за {}.",
                        name_of(cheap), number_markup(goal_text(measure, *findings.goal)),
                        marked(bytes_to_goal(cheap)), marked(time_to_goal(cheap)));
  else if (fast == nullptr || fast->seconds_to_goal->mean == cheap.seconds_to_goal->mean)
    tell_first_by_both(findings, cheap, *next, answer);
  else
    tell_price(findings, cheap, *fast, answer);
  if (const Finding* const top = best(findings); top != nullptr && next != nullptr && cheap.result) {
    const std::string value = strong(result_text(measure, top->result));
    const bool again = top == fast && top != &cheap;  // the sentence before is about it
    append(answer.lead,
           top == &cheap
               ? told("{} also ends best ({}).", "{} и в конце лучше всех ({}).", name_of(cheap), value)
               : told(again ? "It also ends best ({1}), {2} at {3}." : "{} ends best ({}), {} at {}.",
                      again ? "В конце он же лучше всех ({1}), у {2} {3}."
                            : "В конце лучше всех {} ({}), у {} {}.",
                      name_of(*top), value, name_of(cheap), strong(result_text(measure, cheap.result))));
  }
  std::vector<const Finding*> others;
  for (const Finding& one : findings.all)
    if (!one.bytes_to_goal) others.push_back(&one);
  if (!others.empty()) append(answer.lead, told("Not reached by {}.", "Не достигают: {}.", names(others)));
}

// Runs without a test: only their training is known.
Words told_of_training(const Findings& findings) {
  const Finding* const low = least(findings, &Finding::loss);
  if (low == nullptr) return {"Nothing has been measured yet.", "Измерений ещё нет."};
  const std::string loss = marked(figures::three(low->loss->mean)),
                    time = number_markup(time_text(low->seconds));
  return findings.all.size() > 1
             ? told("{} ends with the lowest training loss, {}, after {}.",
                    "{}: наименьшие потери при обучении, {}, через {}.", name_of(*low), loss, time)
             : told("{} ends with training loss {} after {}.", "{}: потери при обучении {} через {}.",
                    name_of(*low), loss, time);
}

// A single configuration, or several without a goal that one has reached.
Words told_of_result(const Findings& findings) {
  const Measure& measure = findings.measure();
  const Finding* const top = best(findings);
  if (top == nullptr) return told_of_training(findings);
  const Words measured = title_of(measure);
  const std::string name = name_of(*top), value = marked(result_text(measure, top->result)),
                    time = number_markup(time_text(top->seconds)),
                    bytes = number_markup(bytes_text(top->bytes));
  if (findings.all.size() > 1 && findings.goal)
    return told("No run reaches {}; {} comes nearest with {}.", "Никто не достигает {}; ближе всех {}: {}.",
                number_markup(goal_text(measure, *findings.goal)), name, value);
  const bool alone = findings.all.size() == 1;
  const char* const english =
      alone ? "{} ends with {} {} after {}, {} sent." : "{} ends best, with {} {} after {}, {} sent.";
  const char* const russian = alone ? "{}: в конце {} {} через {}, отправлено {}."
                                    : "{} в конце лучше всех: {} {} через {}, отправлено {}.";
  return {
      fmt::format(fmt::runtime(english), name, html(measured.english), value, time, bytes),
      fmt::format(fmt::runtime(russian), name,
                  html(measured.russian.empty() ? measured.english : measured.russian), value, time, bytes)};
}

// Of the first configuration, beside the second or the fastest.
void add_figures(const Findings& findings, Answer& answer) {
  const Finding& one = findings.all.front();
  const Finding* other = findings.all.size() > 1 ? &findings.all[1] : nullptr;
  if (const Finding* const fast = least(findings, &Finding::seconds_to_goal); fast != nullptr && fast != &one)
    other = fast;
  if (other != nullptr) {
    answer.winner = one.name();
    answer.other = other->name();
  }
  const auto add = [&](const Words& name, const std::optional<Spread>& value,
                       const std::optional<Spread>& beside, const auto& text) {
    if (!value) return;
    const std::string theirs = other == nullptr ? ""
                               : beside
                                   ? html(other->name()) + " " + number_markup(text(*other, beside))
                                   : html(other->name()) + " " + spoken({"not reached", "не достигнуто"});
    answer.figures.push_back({name, text(one, value), theirs});
  };
  const auto bytes = [](const Finding&, const std::optional<Spread>& value) { return bytes_text(value); };
  const auto time = [](const Finding&, const std::optional<Spread>& value) { return time_text(value); };
  const auto same = [&](Cost cost) { return other == nullptr ? std::optional<Spread>() : other->*cost; };
  if (one.bytes_to_goal) {
    const std::string goal = goal_text(findings.measure(), *findings.goal);
    add({"Bytes to " + goal, "Байты до " + goal}, one.bytes_to_goal, same(&Finding::bytes_to_goal), bytes);
    add({"Time to " + goal, "Время до " + goal}, one.seconds_to_goal, same(&Finding::seconds_to_goal), time);
  } else {
    add({"Bytes sent", "Отправлено"}, one.bytes, same(&Finding::bytes), bytes);
    add({"Time", "Время"}, one.seconds, same(&Finding::seconds), time);
  }
  const Words title = capitalised(title_of(main_measure(one.first().task())));
  add({title.english + " at the end", (title.russian.empty() ? title.english : title.russian) + " в конце"},
      one.result, same(&Finding::result), [](const Finding& finding, const std::optional<Spread>& value) {
        return result_text(main_measure(finding.first().task()), value);
      });
  add({"Disagreement at the end", "Расхождение в конце"}, one.disagreement, same(&Finding::disagreement),
      [](const Finding&, const std::optional<Spread>& value) { return figures::fine_percent(value->mean); });
}

}  // namespace

Answer answer_of(const Findings& findings) {
  Answer answer;
  if (findings.tasks.size() > 1) {
    answer.title = {"Runs of different tasks: their measures cannot be compared.",
                    "Задачи запусков различны: их меры несравнимы."};
    return answer;
  }
  if (findings.all.size() > 1 && least(findings, &Finding::bytes_to_goal) != nullptr)
    compare_costs(findings, answer);
  else
    answer.title = told_of_result(findings);
  add_figures(findings, answer);
  std::vector<const Finding*> going;
  for (const Finding& one : findings.all)
    if (std::ranges::any_of(one.group->runs, [](const RunRecord& run) { return !run.ended; }))
      going.push_back(&one);
  if (!going.empty())
    append(answer.lead, told("Not ended, shown as last measured: {}.",
                             "Ещё не завершены, показано последнее измерение: {}.", names(going)));
  return answer;
}

}  // namespace veche::web
