#include "web/report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace veche::web {
namespace {

// The English words of a chart in both languages.
std::string translated(const std::string& words) {
  static const std::map<std::string, std::string, std::less<>> kRussian{
      {"steps", "шаги"},
      {"seconds of training", "секунды обучения"},
      {"virtual seconds of training", "виртуальные секунды обучения"},
      {"per cent of the test set", "% тестовых данных"},
      {"per cent of the model's length", "% длины модели"},
      {"cross entropy", "перекрёстная энтропия"},
      {"mean loss", "средние потери"},
      {"Loss while training", "Потери при обучении"},
      {"How far the nodes differ", "Расхождение узлов"},
      {"Accuracy over bytes", "Точность и байты"},
      {"Accuracy over time", "Точность и время"},
      {"Accuracy of the averaged model", "Точность усреднённой модели"},
      {"Perplexity over bytes", "Перплексия и байты"},
      {"Perplexity over time", "Перплексия и время"},
      {"Perplexity of the averaged model", "Перплексия усреднённой модели"},
      {"RMSE over bytes", "RMSE и байты"},
      {"RMSE over time", "RMSE и время"},
      {"RMSE of the averaged model", "RMSE усреднённой модели"},
      {"perplexity", "перплексия"},
      {"bytes sent by all nodes", "Б, отправлено всеми узлами"},
      {"kilobytes sent by all nodes", "кБ, отправлено всеми узлами"},
      {"megabytes sent by all nodes", "МБ, отправлено всеми узлами"},
      {"gigabytes sent by all nodes", "ГБ, отправлено всеми узлами"},
      {"terabytes sent by all nodes", "ТБ, отправлено всеми узлами"},
      {", logarithmic", ", логарифмически"}};
  const auto russian = [&](std::string_view one) {
    const auto found = kRussian.find(one);
    return found == kRussian.end() ? std::string(one) : found->second;
  };
  const std::size_t comma = std::min(words.find(','), words.size());
  return spoken(
      {words, russian(words.substr(0, comma)) + (comma < words.size() ? russian(words.substr(comma)) : "")});
}

}  // namespace

std::string figure_of(const std::vector<NamedChart>& some) {
  std::string text;
  const Chart* most = nullptr;
  for (const NamedChart& named : some) {
    const std::string picture = to_svg(named.chart, Medium::page);
    if (picture.empty()) continue;
    if (most == nullptr || named.chart.curves.size() > most->curves.size()) most = &named.chart;
    text +=
        fmt::format("<div><h3>{} <small>{}</small></h3>{}<p>{}</p></div>\n", translated(named.chart.title),
                    translated(named.chart.y_name), picture, translated(named.chart.x_name));
  }
  if (text.empty()) return "";
  text = "<figure><div class=\"charts\">\n" + text + "</div>\n";
  if (most->curves.size() > 1) {
    text += "<ul class=\"lines\">";
    for (const Curve& curve : most->curves)
      text += "<li><span class=\"key\">" + line_sample(curve.color) + html(curve.name) + "</span></li>";
    text += "</ul>\n";
  }
  return text + "</figure>\n";
}

}  // namespace veche::web
