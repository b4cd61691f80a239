{{ config(materialized="table") }}
SELECT * FROM {{ source('private', 'visits') }}
