-- The picture that ends the tour: the temporary table "answer" of demo/demo.sql as bars, into the file that svg names.
\pset tuples_only on
\pset format unaligned
\o :svg
WITH scale AS (SELECT 240 / max(upper) AS y, ceil(max(upper))::int AS top FROM answer),
bar AS (
    SELECT 70 + 110 * (row_number() OVER (ORDER BY pays) - 1) AS x, pays, value, lower, upper, y, 300 AS floor,
           (SELECT avg(doctor_visits)::float8 FROM person WHERE coinsurance = pays) AS truth
    FROM answer, scale
)
SELECT '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" font-family="sans-serif" font-size="13">'
UNION ALL SELECT '<rect width="640" height="400" fill="white"/>'
UNION ALL SELECT '<text x="40" y="28" font-size="17">Visits to a doctor in a year, by what the family pays</text>'
UNION ALL SELECT format('<path d="M40 %1$s H610" stroke="#ddd"/><text x="32" y="%2$s" text-anchor="end">%3$s</text>',
                        round((300 - v * y)::numeric, 1), round((304 - v * y)::numeric, 1), v)
          FROM scale, generate_series(0, top) AS v WHERE v * y <= 250
UNION ALL SELECT format('<rect x="%s" y="%s" width="70" height="%s" fill="#7aa6d8"/>',
                        x, round((floor - value * y)::numeric, 1), round((value * y)::numeric, 1)) FROM bar
UNION ALL SELECT format('<path d="M%1$s %2$s V%3$s M%4$s %2$s H%5$s M%4$s %3$s H%5$s" stroke="black" fill="none"/>',
                        x + 35, round((floor - lower * y)::numeric, 1), round((floor - upper * y)::numeric, 1),
                        x + 27, x + 43) FROM bar
UNION ALL SELECT format('<circle cx="%s" cy="%s" r="5" fill="white" stroke="#c33"/>',
                        x + 55, round((floor - truth * y)::numeric, 1)) FROM bar
UNION ALL SELECT format('<text x="%s" y="320" text-anchor="middle">%s%%: %s</text>',
                        x + 35, pays, round(value::numeric, 2)) FROM bar
UNION ALL SELECT '<text x="40" y="350">Bars: private means, epsilon 1 for all five. Lines: 95% intervals.</text>'
UNION ALL SELECT '<text x="40" y="370">Circles: the truth, which nobody would publish.</text></svg>';
\o
\pset tuples_only off
\pset format aligned
